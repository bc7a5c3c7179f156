package durable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/stream"
)

// Revive puts the dead letter with this id back into the queue, as a job that has not been attempted. That is one step,
// so the job is never both a dead letter and in the queue, nor lost. Revive returns an error that matches ErrNotFound
// if there is no such dead letter. Concurrent calls revive it once. If the server does not respond, the error matches
// ErrUnreachable, or ErrNotStored if the job may have been revived.
//
// Revive then deletes the old dead letter. A user without the permission for that can revive too: Stats counts the old
// letter until the job has ended, and that is logged once.
func (q *Queue) Revive(ctx context.Context, id string) error {
	what := "revive: job " + strconv.Quote(id)
	m, err := q.lastOf(ctx, id)
	switch {
	case err != nil:
		return explain(what, err)
	case m == nil || q.config.stateOf(m) != StateDead:
		return &failure{what, ErrNotFound, nil, ""}
	}
	return q.revive(ctx, q.readDead(m))
}

// revive stores the job of the letter again, so that the letter is no longer its job's last message, and deletes the
// letter if the user may.
func (q *Queue) revive(ctx context.Context, letter *DeadLetter) error {
	r := q.request("revive: job "+strconv.Quote(letter.ID), "revive it again: if it was revived, that finds no dead letter")
	s := state{put: r.began, kind: letter.Kind, user: letter.Header, revived: true, position: letter.position}
	m := &nats.Msg{Subject: q.config.subject(letter.ID, first), Header: s.header(), Data: letter.Data}
	switch err := r.make(ctx, step{id: letter.ID, last: letter.seq, m: m, unbuffered: true, ours: isOf(get(m.Header, headerPut))}, storePolicy); {
	case err == errMoved:
		return &failure{r.what, ErrNotFound, nil, ""}
	case err != nil:
		return r.notStored(ctx, err)
	}
	q.counts.put.Add(1)
	if _, err := q.tryRemove(ctx, letter.seq); err != nil {
		q.config.Logger.Debug("the dead letter of a revived job could not be deleted", "id", letter.ID, "error", err)
	}
	return nil
}

// ReviveAll revives the present dead letters for which keep returns true, or all if keep is nil. It returns how many it
// has revived. It skips those that others have revived or forgotten meanwhile. It revives several at a time, in any
// order, ends after the first error, and may be called again. Like Revive it deletes the old dead letters.
func (q *Queue) ReviveAll(ctx context.Context, keep func(*DeadLetter) bool) (revived int, err error) {
	var n atomic.Int64
	var each sync.WaitGroup
	atOnce := make(chan struct{}, lettersAtOnce)
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer each.Wait() // if keep panics
	for letter, ended := range q.Dead().All(running) {
		if ended != nil {
			fail(ended)
			break
		}
		if keep != nil && !keep(letter) {
			continue
		}
		atOnce <- struct{}{}
		each.Go(func() {
			defer func() { <-atOnce }()
			switch err := q.revive(running, letter); {
			case err == nil:
				n.Add(1)
			case !errors.Is(err, ErrNotFound):
				fail(err)
			}
		})
	}
	each.Wait()
	if ctx.Err() != nil {
		return int(n.Load()), stream.ContextError(ctx)
	}
	return int(n.Load()), context.Cause(running)
}
