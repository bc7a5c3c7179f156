package durable

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// DeadLetter is a dead letter: a job that was given up, and what it has been through.
type DeadLetter struct {
	ID   string
	Data []byte
	// Err is the text of the last error; of a panic with its stack. Both are cut at 4 KiB.
	Err string
	// Cause is why the job was given up: "permanent" for an error that the policy's predicate refuses or that is marked
	// so, "abandoned" for one whose workers died, else the cause of the retry.Error, "limit of 5 retries" say.
	Cause string
	// Attempts is how many attempts failed.
	Attempts int
	// Put is when the job was put, FirstFailure when it first failed, and Died when it was given up.
	Put, FirstFailure, Died time.Time

	seq uint64
}

func readDead(m *jetstream.RawStreamMsg) *DeadLetter {
	s := readState(m.Header)
	return &DeadLetter{
		ID: s.id, Data: m.Data, Err: readErrorText(get(m.Header, headerError)), Cause: get(m.Header, headerCause),
		Attempts: s.row.Attempts, Put: s.put, FirstFailure: s.row.First, Died: parseTime(get(m.Header, headerDied)),
		seq: m.Sequence,
	}
}

// Dead returns the dead letters of now, oldest first, as a stream that ends. A job has one, its last.
func (q *Queue) Dead() stream.Stream[*DeadLetter] {
	return func(ctx context.Context, yield func(*DeadLetter) bool) error {
		if ctx.Err() != nil {
			return ending.ContextError(ctx)
		}
		info, err := q.dead.Info(ctx)
		if err != nil {
			return ended(ctx, "dead", err)
		}
		all := "retrywhen." + q.config.Name + ".dead.>"
		for seq, last := info.State.FirstSeq, info.State.LastSeq; seq <= last; {
			m, err := q.dead.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(all))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err != nil {
				return ended(ctx, "dead", err)
			}
			if m.Sequence > last || !yield(readDead(m)) {
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

// ended returns ctx's cause when it is ctx that ended what was done.
func ended(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	return explain(what, err)
}

// Revive puts the dead letter of that id back into the queue, as a job that has not been attempted. It returns an error
// that matches ErrNotFound if there is none. Called twice, or cut off and called again within Config.Duplicates, it
// revives the job once.
func (q *Queue) Revive(ctx context.Context, id string) error {
	m, err := q.deadLetter(ctx, "revive", id)
	if err != nil {
		return err
	}
	s := readState(m.Header)
	revived := state{id: s.id, put: time.Now()}
	job := &nats.Msg{Subject: q.subjectFirst(), Header: revived.header(), Data: m.Data}
	job.Header[headerMsgID] = []string{publicationID("revive", s.id, strconv.FormatUint(m.Sequence, 10))}
	if err := q.store(ctx, job); err != nil {
		return err
	}
	return q.forget(ctx, "revive", m.Sequence)
}

// Forget removes the dead letter of that id for good. It returns an error that matches ErrNotFound if there is none.
func (q *Queue) Forget(ctx context.Context, id string) error {
	m, err := q.deadLetter(ctx, "forget", id)
	if err != nil {
		return err
	}
	return q.forget(ctx, "forget", m.Sequence)
}

func (q *Queue) deadLetter(ctx context.Context, what, id string) (*jetstream.RawStreamMsg, error) {
	m, err := q.dead.GetLastMsgForSubject(ctx, q.subjectDead(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, &failure{what + ": job " + strconv.Quote(id), ErrNotFound, nil, ""}
	}
	if err != nil {
		return nil, explain(what+": job "+strconv.Quote(id), err)
	}
	return m, nil
}

func (q *Queue) forget(ctx context.Context, what string, seq uint64) error {
	err := q.dead.DeleteMsg(ctx, seq)
	if err == nil {
		return nil
	}
	// A job that is revived and dies again at once has replaced its dead letter by then.
	if _, gone := q.dead.GetMsg(ctx, seq); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return nil
	}
	return explain(what, err)
}
