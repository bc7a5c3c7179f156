package durable

import (
	"context"
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

// readDead returns the dead letter in m, nil if m says that the job is done.
func (q *Queue) readDead(m *jetstream.RawStreamMsg) *DeadLetter {
	if get(m.Header, headerDone) != "" {
		return nil
	}
	id, _, _ := q.config.parseSubject(m.Subject)
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
			letters, next, err := q.letters(ctx, seq, last)
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

// lettersAtOnce is how many dead letters Dead reads at a time.
const lettersAtOnce = 16

// letters returns the dead letters among the next messages of the stage, from the sequence on, and the sequence from
// which to continue.
func (q *Queue) letters(ctx context.Context, from, last uint64) (letters []*DeadLetter, next uint64, err error) {
	var found [lettersAtOnce]*DeadLetter
	var failed [lettersAtOnce]error
	var looking sync.WaitGroup
	for i := range found {
		m, err := q.next(ctx, q.config.subjects("*", string(dead)), from)
		if err != nil {
			failed[i] = err
			break
		}
		if m == nil || m.Sequence > last {
			from = last + 1
			break
		}
		from = m.Sequence + 1
		looking.Go(func() { found[i], failed[i] = q.ifLast(ctx, q.readDead(m)) })
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

// ifLast returns the letter, nil if it is nil or not its job's last message: the job was revived or forgotten.
func (q *Queue) ifLast(ctx context.Context, letter *DeadLetter) (*DeadLetter, error) {
	if letter == nil {
		return nil, nil
	}
	newest, err := q.lastOf(ctx, letter.ID)
	if err != nil || newest == nil || newest.Sequence != letter.seq {
		return nil, err
	}
	return letter, nil
}

// ended returns ctx's error if ctx has ended, else err with its explanation.
func ended(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return stream.ContextError(ctx)
	}
	return explain(what, err)
}
