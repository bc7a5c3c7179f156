package durable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// DeadLetter is a job that was given up.
type DeadLetter struct {
	ID   string
	Data []byte
	// Kind and Header were set by PutKind and PutHeader.
	Kind   string
	Header nats.Header
	// Err is the text of the last error, of a panic with its stack, cut at 4 KiB.
	Err string
	// Cause is why the job was given up: "permanent" if the error is marked permanent, the policy's predicate rejects it
	// or the policy panicked; "abandoned" if the job's workers died; else the cause of the retry.Error, such as "limit of
	// 5 retries".
	Cause string
	// Attempts is the number of failed attempts.
	Attempts int
	// Put is when the job was put, FirstFailure when its first attempt failed, and Died when it was given up.
	Put, FirstFailure, Died time.Time

	seq uint64
}

func readDead(m *jetstream.RawStreamMsg, id string) *DeadLetter {
	s := readState(m.Header)
	return &DeadLetter{
		ID: id, Data: m.Data, Kind: s.kind, Header: s.user, Err: s.lastError, Cause: get(m.Header, headerCause),
		Attempts: s.retry.Attempts, Put: s.put, FirstFailure: s.retry.First, Died: parseTime(get(m.Header, headerDied)),
		seq: m.Sequence,
	}
}

// Dead returns the present dead letters, oldest first, as a stream that ends. There is at most one for each id.
func (q *Queue) Dead() stream.Stream[*DeadLetter] {
	return func(ctx context.Context, yield func(*DeadLetter) bool) error {
		if ctx.Err() != nil {
			return ending.ContextError(ctx)
		}
		info, err := q.jobs.Info(ctx)
		if err != nil {
			return ended(ctx, "dead", err)
		}
		all := q.config.subjects("*", string(dead))
		for seq, last := info.State.FirstSeq, info.State.LastSeq; seq <= last; {
			m, err := q.jobs.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(all))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err != nil {
				return ended(ctx, "dead", err)
			}
			if m.Sequence > last {
				return nil
			}
			id, _, _ := q.config.parseSubject(m.Subject)
			if get(m.Header, headerGone) == "" && !yield(readDead(m, id)) {
				return nil
			}
			if ctx.Err() != nil {
				return ending.ContextError(ctx)
			}
			seq = m.Sequence + 1
		}
		return nil
	}
}

// ended returns ctx's error if ctx has ended, else err with its explanation.
func ended(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	return explain(what, err)
}

// Revive puts the dead letter with this id back into the queue, as a job that has not been attempted. That is one
// atomic step, so the job is never both a dead letter and in the queue, nor lost. Revive returns an error that matches
// ErrNotFound if there is no such dead letter. Concurrent calls revive it once. While the server does not respond,
// Revive tries again for as long as Put; its error then matches ErrNotStored, and the job may have been revived or not.
func (q *Queue) Revive(ctx context.Context, id string) error {
	m, err := q.deadLetter(ctx, "revive", id)
	if err != nil {
		return err
	}
	return q.revive(ctx, readDead(m, id))
}

func (q *Queue) revive(ctx context.Context, letter *DeadLetter) error {
	id, s := letter.ID, state{put: time.Now(), kind: letter.Kind, user: letter.Header}
	job := &nats.Msg{Subject: q.config.subject(id, first), Header: s.header(), Data: letter.Data}
	gone := &nats.Msg{Subject: q.config.subject(id, dead), Header: nats.Header{headerGone: {"1"}}}
	expires(gone, time.Second)
	began, before, put := time.Now(), q.nc.LastError(), get(job.Header, headerPut)
	stored, err := q.store(ctx, step{id: id, last: letter.seq, m: job, with: gone,
		ours:   func(m *jetstream.RawStreamMsg) bool { return get(m.Header, headerPut) == put },
		within: func(ctx context.Context) (context.Context, context.CancelFunc) { return q.withPutTimeout(ctx, began) }}, storePolicy)
	switch {
	case err == nil:
		q.counts.put.Add(1)
		q.remove(ctx, stored-1) // gone, which was stored together with job. If that fails, gone expires
		return nil
	case errors.Is(err, errMoved):
		return &failure{"revive: job " + strconv.Quote(id), ErrNotFound, nil, ""}
	}
	return q.notStored(ctx, "revive: job "+strconv.Quote(id), err, before, time.Since(began))
}

// ReviveAll revives the present dead letters for which keep returns true, or all if keep is nil. It returns how many it
// has revived. It skips those that others have revived or forgotten meanwhile. It stops at the first error, and may be
// called again.
func (q *Queue) ReviveAll(ctx context.Context, keep func(*DeadLetter) bool) (revived int, err error) {
	for letter, err := range q.Dead().All(ctx) {
		if err != nil {
			return revived, err
		}
		if keep != nil && !keep(letter) {
			continue
		}
		switch err := q.revive(ctx, letter); {
		case err == nil:
			revived++
		case !errors.Is(err, ErrNotFound):
			return revived, err
		}
	}
	return revived, nil
}

// Forget deletes the dead letter with this id. It returns an error that matches ErrNotFound if there is none.
func (q *Queue) Forget(ctx context.Context, id string) error {
	m, err := q.deadLetter(ctx, "forget", id)
	if err != nil {
		return err
	}
	err = q.jobs.DeleteMsg(ctx, m.Sequence)
	if err == nil {
		return nil
	}
	if _, gone := q.jobs.GetMsg(ctx, m.Sequence); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return &failure{"forget: job " + strconv.Quote(id), ErrNotFound, nil, ""}
	}
	return explain("forget: job "+strconv.Quote(id), err)
}

func (q *Queue) deadLetter(ctx context.Context, what, id string) (*jetstream.RawStreamMsg, error) {
	what += ": job " + strconv.Quote(id)
	m, err := q.last(ctx, q.config.subject(id, dead))
	switch {
	case err != nil:
		return nil, explain(what, err)
	case m == nil || get(m.Header, headerGone) != "":
		return nil, &failure{what, ErrNotFound, nil, ""}
	}
	return m, nil
}

// bound limits how often the number of dead letters is checked.
type bound struct {
	mu   sync.Mutex
	next time.Time // of the next check
}

// boundDead removes the oldest dead letters if there are more than Config.MaxDead. It checks at most once per second.
func (q *Queue) boundDead(ctx context.Context) {
	b := &q.bound
	b.mu.Lock()
	now := time.Now()
	wait := now.Before(b.next)
	if !wait {
		b.next = now.Add(time.Second)
	}
	b.mu.Unlock()
	if wait {
		return
	}
	n, err := q.count(ctx, dead)
	if err == nil && n > q.config.MaxDead {
		q.config.Logger.Warn("the oldest dead letters are removed, Config.MaxDead is reached", "queue", q.config.Name, "removed", n-q.config.MaxDead)
		err = q.jobs.Purge(ctx, jetstream.WithPurgeSubject(q.config.subjects("*", string(dead))), jetstream.WithPurgeKeep(uint64(q.config.MaxDead)))
	}
	if err != nil {
		q.config.Logger.Warn("the number of dead letters could not be bounded", "queue", q.config.Name, "error", err)
	}
}
