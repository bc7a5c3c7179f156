package durable

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Job is one attempt at a job. Done, Fail and Again of one that no queue has delivered, in a test of a handler, store
// nothing.
type Job struct {
	// ID is the same in all attempts of a job. It serves as the idempotency key.
	ID string
	// Data is the data given to Put. It must not be changed.
	Data []byte
	// Kind is the kind set by PutKind.
	Kind string
	// Header holds the headers set by PutHeader. It must not be changed.
	Header nats.Header
	// Attempt is the number of this attempt, from 1, and from 1 again after Again. If an attempt's outcome was not stored,
	// the next one has the same number.
	Attempt int
	// Put is when the job was put, by the server's clock, or by the client's if it was put with an id or by PutAt.
	Put time.Time
	// FirstFailure is when the first attempt failed, and LastError is the text of the last failure.
	FirstFailure time.Time
	LastError    string
	// Redelivered is whether this attempt may have been made before, wholly or in part: the server has delivered the job
	// to a worker that died, was silent for too long, or handed it back. A server that was killed may have forgotten such
	// a delivery; then Redelivered is false.
	Redelivered bool

	a       *attempts
	d       *delivery
	began   time.Time
	leave   func()          // called when it is settled
	hooks   context.Context // of the policy's hooks, nil if Config.Context is nil
	settled atomic.Bool

	mu       sync.Mutex
	position interface{ text() ([]byte, error) } // of Resume, nil if it was not run
}

// newJob returns the attempt at a delivery for which check has returned begin.
func (a *attempts) newJob(d *delivery) *Job {
	a.counts.attempts.Add(1)
	put := d.state.put
	if put.IsZero() {
		put = d.put
	}
	return &Job{
		ID: d.id, Data: d.msg.Data(), Kind: d.state.kind, Header: d.state.user, Attempt: d.state.retry.Attempts() + 1, Put: put,
		FirstFailure: d.state.retry.FirstFailure(), LastError: d.state.lastError, Redelivered: d.claimed,
		a: a, d: d, began: a.now(), leave: func() {},
	}
}

// Done reports that the attempt has succeeded. The job is removed; if it was put with an id, the id is remembered for
// Config.Remember. Jobs of Queue.Jobs must be reported with Done or Fail. In Work the handler's result is the report,
// unless the handler has called one of them. Only the first report counts; any other returns ErrSettled. After Close,
// which hands the job back, Done returns ErrClosed. It returns ErrTaken if the lease has run out and another worker has
// the job or has settled it.
func (j *Job) Done() error {
	return j.report("done", func(ctx context.Context) error {
		err := j.a.done(ctx, j.d)
		if err == nil {
			j.a.counts.done.Add(1)
			op := j.a.operation(j.hooked(ctx), &j.d.state)
			j.a.endOperation(&op, j.began, nil)
		}
		return err
	})
}

// Fail reports that the attempt has failed with err, and the policy decides whether to retry. Fail returns when the
// server has stored the retry or the dead letter. If it returns an error, the outcome was not stored: the attempt will
// be made again, after a lease or when the retry would be due. If another worker has the job or has settled it, Fail
// stores nothing and returns nil. Fail(nil) is Done.
func (j *Job) Fail(err error) error {
	if err == nil {
		return j.Done()
	}
	return j.report("fail", func(ctx context.Context) error {
		j.takePosition()
		return j.a.fail(ctx, j.hooked(ctx), j.d, err, j.began)
	})
}

// Again reports that a round of a job that has no end, such as a poll, has succeeded. The next round begins after d. It
// is a new operation of the policy: earlier failures count for no limit, and Job.Attempt is 1. Job.ID, the headers and
// the position of Resume stay. A handler may return what Again returns. Its errors are those of Fail. Again panics when
// d is negative. See Snooze for an attempt that could not be made, and so has not succeeded.
func (j *Job) Again(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("durable: Again: d is %v, want at least 0", d))
	}
	return j.report("again", func(ctx context.Context) error {
		j.takePosition()
		return j.a.fail(ctx, j.hooked(ctx), j.d, &snooze{d, true}, j.began)
	})
}

// report stores an outcome, unless there was one before.
func (j *Job) report(what string, store func(context.Context) error) error {
	if !j.settled.CompareAndSwap(false, true) {
		return &failure{what + ": job " + j.ID, ErrSettled, nil, ""}
	}
	if j.a == nil { // a Job of a test, which no server has
		return nil
	}
	if j.a.isClosed() {
		return &failure{what + ": job " + j.ID, ErrClosed, nil, "Close has handed the job back, it will be attempted again"}
	}
	defer j.leave()
	ctx, cancel := j.context()
	defer cancel()
	return store(ctx)
}

// hooked returns the context for the policy's hooks.
func (j *Job) hooked(ctx context.Context) context.Context {
	if j.hooks != nil {
		return j.hooks
	}
	return ctx
}

// context bounds the report of an outcome.
func (j *Job) context() (context.Context, context.CancelFunc) {
	if ctx := j.d.feed.ctx; ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(j.a.ctx, settleTime) // the stream of Jobs has ended before the job
}

// handBack returns the job to the server for redelivery after the pause, unless it was settled. The attempt is not
// counted.
func (j *Job) handBack(pause time.Duration) bool {
	if !j.settled.CompareAndSwap(false, true) {
		return false
	}
	defer j.leave()
	j.takePosition()
	ctx, cancel := j.context()
	defer cancel()
	j.a.handBack(ctx, j.d, pause)
	return true
}

// abandon drops the outcome of an attempt at a job that was cancelled.
func (j *Job) abandon() {
	if j.settled.CompareAndSwap(false, true) {
		j.leave()
		j.a.abandon(j.d)
	}
}
