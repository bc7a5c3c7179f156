package durable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Revive puts the dead letter with this id back into the queue, as a job that has not been attempted. That is one step,
// so the job is never both a dead letter and in the queue, nor lost. Revive returns an error that matches ErrNotFound if
// there is no such dead letter. Concurrent calls revive it once. While the server does not respond, Revive tries again
// for as long as Put; its error then matches ErrNotStored, and the job may have been revived or not.
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
	letter := q.readDead(m)
	if err := q.revive(ctx, letter); err != nil {
		return err
	}
	q.removeRevived(ctx, letter)
	return nil
}

// revive stores the job of the letter again. The letter is then no longer its job's last message.
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
	return nil
}

// removeRevived deletes the letter of a job that was revived, and reports whether it is deleted.
func (q *Queue) removeRevived(ctx context.Context, letter *DeadLetter) bool {
	may, err := q.tryRemove(ctx, letter.seq)
	if err != nil {
		q.config.Logger.Debug("the dead letter of a revived job could not be deleted", "id", letter.ID, "error", err)
	}
	return may && err == nil
}

// ReviveAll revives the present dead letters for which keep returns true, or all if keep is nil. It returns how many it
// has revived. It skips those that others have revived or forgotten meanwhile. It revives several at a time, in any
// order, ends after the first error, and may be called again. keep is called by one goroutine at a time.
//
// Like Revive it deletes the old dead letters. If the connection breaks meanwhile, Stats counts some of them until their
// jobs have ended.
func (q *Queue) ReviveAll(ctx context.Context, keep func(*DeadLetter) bool) (revived int, err error) {
	info, err := q.jobs.Info(ctx)
	if err != nil {
		return 0, ended(ctx, "revive", err)
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	all := &revivals{q: q, keep: keep, cancel: cancel, next: info.State.FirstSeq, last: info.State.LastSeq}
	var each sync.WaitGroup
	for range revivalsAtOnce {
		each.Go(func() { all.run(running) })
	}
	each.Wait()
	if sent := all.sent.Load(); sent != nil { // the server responds in order: it has seen the other deletions then
		q.removeRevived(ctx, sent)
	}
	if all.panicked != nil {
		panic(all.panicked)
	}
	return all.revived, all.err
}

const (
	// revivalsAtOnce is how many letters ReviveAll reads or revives at a time.
	revivalsAtOnce = 64
	// partSize is the minimal number of consecutive sequences at which one goroutine of ReviveAll looks.
	partSize = 32
)

// revivals is a call of ReviveAll.
type revivals struct {
	q         *Queue
	keep      func(*DeadLetter) bool
	cancel    context.CancelFunc
	mayDelete atomic.Bool                // a letter was deleted
	sent      atomic.Pointer[DeadLetter] // one whose deletion was only sent

	mu         sync.Mutex
	next, last uint64 // the sequences at which nobody looks yet
	revived    int
	err        error
	panicked   any // by keep
}

// run revives letters until there are no more.
func (r *revivals) run(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.panicked = v
			r.cancel()
		}
	}()
	for from, to := r.part(0); from <= to; {
		m, err := r.q.next(ctx, r.q.config.subjects("*", string(dead)), from)
		switch {
		case err != nil:
			r.fail(ended(ctx, "revive", err))
			return
		case m == nil:
			return
		case m.Sequence > to:
			from, to = r.part(m.Sequence)
			continue
		}
		if err := r.revive(ctx, m); err != nil && !errors.Is(err, ErrNotFound) {
			r.fail(err)
			return
		}
		if from = m.Sequence + 1; from > to {
			from, to = r.part(0)
		}
	}
}

// part returns the next sequences at which to look: the fewer are left, the fewer, so that the goroutines end together.
// There is no letter between the parts that were taken and skip.
func (r *revivals) part(skip uint64) (from, to uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from = max(r.next, skip)
	left := max(r.last, from) - from
	to = min(from+max(partSize, left/(4*revivalsAtOnce)), r.last)
	r.next = to + 1
	return from, to
}

// revive revives the letter in m, if it is one that is kept.
func (r *revivals) revive(ctx context.Context, m *jetstream.RawStreamMsg) (err error) {
	letter := r.q.readDead(m)
	if r.keep != nil { // without keep, the publication is refused if the letter is none
		letter, err = r.q.ifLast(ctx, letter)
	}
	if err != nil {
		return ended(ctx, "revive", err)
	}
	if letter == nil || !r.keeps(letter) {
		return nil
	}
	if err := r.q.revive(ctx, letter); err != nil {
		return err
	}
	r.remove(ctx, letter)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revived++
	return nil
}

// remove deletes the letter of a job that was revived. When a response has shown that the user may delete, it does not
// wait for more: they would take a third of the time.
func (r *revivals) remove(ctx context.Context, letter *DeadLetter) {
	if r.mayDelete.Load() {
		r.q.sendRemove(letter.seq)
		r.sent.Store(letter)
	} else if r.q.removeRevived(ctx, letter) {
		r.mayDelete.Store(true)
	}
}

func (r *revivals) keeps(letter *DeadLetter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err == nil && (r.keep == nil || r.keep(letter))
}

// fail ends the call with its first error.
func (r *revivals) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.cancel()
	}
}
