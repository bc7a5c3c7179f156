package durable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

	seq      uint64
	position []byte
}

func readDead(m *jetstream.RawStreamMsg, id string) *DeadLetter {
	s := readState(m.Header)
	return &DeadLetter{
		ID: id, Data: m.Data, Kind: s.kind, Header: s.user, Err: s.lastError, Cause: get(m.Header, headerCause),
		Attempts: s.retry.Attempts(), Put: s.put, FirstFailure: s.retry.FirstFailure(), Died: parseTime(get(m.Header, headerDied)),
		seq: m.Sequence, position: s.position,
	}
}

// Dead returns the present dead letters, oldest first, as a stream that ends. There is at most one for each id.
func (q *Queue) Dead() stream.Stream[*DeadLetter] {
	return func(ctx context.Context, yield func(*DeadLetter) bool) error {
		if ctx.Err() != nil {
			return stream.ContextError(ctx)
		}
		info, err := q.jobs.Info(ctx)
		if err != nil {
			return ended(ctx, "dead", err)
		}
		for seq, last := info.State.FirstSeq, info.State.LastSeq; seq <= last; {
			letters, next, err := q.letters(ctx, seq, last, true)
			for _, letter := range letters {
				if !yield(letter) {
					return nil
				}
				if ctx.Err() != nil {
					return stream.ContextError(ctx)
				}
			}
			if err != nil {
				return ended(ctx, "dead", err)
			}
			seq = next
		}
		return nil
	}
}

// lettersAtOnce is how many dead letters are read or revived at a time.
const lettersAtOnce = 16

// letters returns the dead letters among the next messages of the stage, from the sequence on, and the sequence from
// which to continue. A message that is not its job's last one is not a dead letter: the job was revived or forgotten.
// Unless looks is set, such messages are returned too.
func (q *Queue) letters(ctx context.Context, from, last uint64, looks bool) (letters []*DeadLetter, next uint64, err error) {
	all := q.config.subjects("*", string(dead))
	var found [lettersAtOnce]*DeadLetter
	var failed [lettersAtOnce]error
	var looking sync.WaitGroup
	for i := range found {
		m, err := q.jobs.GetMsg(ctx, from, jetstream.WithGetMsgSubject(all))
		if err != nil || m.Sequence > last {
			if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
				from = last + 1
				break
			}
			failed[i] = err
			break
		}
		from = m.Sequence + 1
		id, _, _ := q.config.parseSubject(m.Subject)
		switch {
		case get(m.Header, headerDone) != "":
		case !looks:
			found[i] = readDead(m, id)
		default:
			looking.Go(func() {
				newest, err := q.lastOf(ctx, id)
				if failed[i] = err; err == nil && newest != nil && newest.Sequence == m.Sequence {
					found[i] = readDead(m, id)
				}
			})
		}
	}
	looking.Wait()
	for i, letter := range found {
		if failed[i] != nil {
			return letters, from, failed[i]
		}
		if letter != nil {
			letters = append(letters, letter)
		}
	}
	return letters, from, nil
}

// ended returns ctx's error if ctx has ended, else err with its explanation.
func ended(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return stream.ContextError(ctx)
	}
	return explain(what, err)
}

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
	return q.revive(ctx, readDead(m, id))
}

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
	if q.mayNotDelete.Load() {
		return nil
	}
	switch err := q.remove(ctx, letter.seq); {
	case errors.Is(err, nats.ErrPermissionViolation) && q.mayNotDelete.CompareAndSwap(false, true):
		q.config.Logger.Warn("the dead letters of revived jobs cannot be deleted and are counted until the jobs have ended: the user lacks the permission",
			"error", err)
	case err != nil && !errors.Is(err, nats.ErrPermissionViolation):
		q.config.Logger.Debug("the dead letter of a revived job could not be deleted", "id", letter.ID, "error", err)
	}
	return nil
}

// ReviveAll revives the present dead letters for which keep returns true, or all if keep is nil. It returns how many it
// has revived. It skips those that others have revived or forgotten meanwhile. It revives several at a time, in any
// order, ends after the first error, and may be called again. keep is called by one goroutine at a time.
func (q *Queue) ReviveAll(ctx context.Context, keep func(*DeadLetter) bool) (revived int, err error) {
	info, err := q.jobs.Info(ctx)
	if err != nil {
		return 0, ended(ctx, "revive", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		running  sync.WaitGroup
		panicked any
	)
	kept := func(letter *DeadLetter) bool {
		mu.Lock()
		defer mu.Unlock()
		return err == nil && (keep == nil || keep(letter))
	}
	count := func(failed error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case failed == nil:
			revived++
		case err == nil && !errors.Is(failed, ErrNotFound):
			err = failed
			cancel()
		}
	}
	from, last := info.State.FirstSeq, info.State.LastSeq
	part := (last-from)/lettersAtOnce + 1
	for from := from; from <= last; from += part {
		running.Go(func() {
			defer func() {
				if v := recover(); v != nil { // of keep
					mu.Lock()
					panicked = v
					mu.Unlock()
					cancel()
				}
			}()
			for next, end := from, min(from+part-1, last); next <= end; {
				letters, after, failed := q.letters(ctx, next, end, keep != nil)
				for _, letter := range letters {
					if kept(letter) {
						count(q.revive(ctx, letter))
					}
				}
				if failed != nil {
					count(ended(ctx, "revive", failed))
					return
				}
				next = after
			}
		})
	}
	running.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return revived, err
}

// Forget deletes the dead letter with this id. It returns an error that matches ErrNotFound if there is none. The id is
// known for Config.Remember.
func (q *Queue) Forget(ctx context.Context, id string) error {
	what := "forget: job " + strconv.Quote(id)
	m, err := q.lastOf(ctx, id)
	if err != nil {
		return explain(what, err)
	}
	gone := &failure{what, ErrNotFound, nil, ""}
	switch {
	case m == nil:
		return gone
	case q.config.stateOf(m) == StateDead:
		// The mark comes first: without it, a delivery that was never acknowledged would be attempted again.
		_, err := q.store(ctx, step{id: id, last: m.Sequence, m: q.config.doneMark(id, parseTime(get(m.Header, headerPut)))}, storePolicy)
		if errors.Is(err, errMoved) {
			return gone
		}
		if err != nil {
			return explain(what, err)
		}
	case get(m.Header, headerDone) != "": // by a Forget that has ended before it could delete the letter
		if m, err = q.last(ctx, q.config.subject(id, dead)); err != nil {
			return explain(what, err)
		}
		if m == nil || get(m.Header, headerDone) != "" {
			return gone
		}
	default:
		return gone
	}
	if err := q.remove(ctx, m.Sequence); err != nil {
		return explain(what, err)
	}
	return nil
}
