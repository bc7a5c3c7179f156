package durable

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Job is one attempt at a job.
type Job struct {
	// ID is the same in all attempts: what to make them idempotent with.
	ID string
	// Data is what was put. It must not be changed.
	Data []byte
	// Kind is what PutKind has said.
	Kind string
	// Header is what PutHeader has put. It must not be changed.
	Header nats.Header
	// Attempt counts the attempts, from 1. An attempt whose outcome was not stored counts again.
	Attempt int
	// Put is when the job was put, by the server's clock, or by the client's if it was put with an id or by PutAt.
	Put time.Time
	// FirstFailure is when the first attempt failed, and LastError the text of the last failure.
	FirstFailure time.Time
	LastError    string
	// Redelivered says that this attempt may have been made before, wholly or in part: the server has given it to a worker
	// that died, or was too silent, or handed it back. A server that was killed may have forgotten that it has.
	Redelivered bool

	q       *Queue
	d       *delivery
	began   time.Time
	hooks   context.Context // for the policy's hooks, nil for none of its own
	settled atomic.Bool
}

// newJob returns the attempt at a delivery that check lets begin.
func (q *Queue) newJob(d *delivery) *Job {
	q.counts.attempts.Add(1)
	put := d.state.put
	if put.IsZero() {
		put = d.put
	}
	return &Job{
		ID: d.id, Data: d.msg.Data(), Kind: d.state.kind, Header: d.state.user, Attempt: d.state.row.Attempts + 1, Put: put,
		FirstFailure: d.state.row.First, LastError: d.state.lastError, Redelivered: d.claimed,
		q: q, d: d, began: time.Now(),
	}
}

// Done reports that the attempt has succeeded. The job is removed; if it was put with an id, the id is remembered for
// Config.Remember. Done and Fail are for jobs of Jobs; in Work what the handler returns does it, unless one of them was
// called. Only the first report counts, any other is ErrSettled; after Close, which has handed the job back, it is
// ErrClosed. It is ErrTaken if the lease ran out meanwhile and another worker has the job, or has settled it.
func (j *Job) Done() error {
	if !j.settled.CompareAndSwap(false, true) {
		return &failure{"done: job " + j.ID, ErrSettled, nil, ""}
	}
	if j.q.isClosed() {
		return &failure{"done: job " + j.ID, ErrClosed, nil, "Close has handed it back, it will be attempted again"}
	}
	j.q.policyOf(j.Kind).Succeeded(0)
	ctx, cancel := j.context()
	defer cancel()
	err := j.q.done(ctx, j.d)
	if err == nil {
		j.q.counts.done.Add(1)
		j.q.over(j.hooked(ctx), &j.d.state, j.began, nil)
	}
	return err
}

// Fail reports that the attempt has failed with err, and has the policy decide. It returns when the server has stored
// the retry or the dead letter. When it returns an error the outcome was not stored: the attempt will be made again,
// when the lease has run out at the latest. If another worker has the job, or has settled it, there is nothing to be
// stored, and that is no error. Fail(nil) is Done.
func (j *Job) Fail(err error) error {
	if err == nil {
		return j.Done()
	}
	if !j.settled.CompareAndSwap(false, true) {
		return &failure{"fail: job " + j.ID, ErrSettled, nil, ""}
	}
	if j.q.isClosed() {
		return &failure{"fail: job " + j.ID, ErrClosed, nil, "Close has handed it back, it will be attempted again"}
	}
	ctx, cancel := j.context()
	defer cancel()
	return j.q.fail(ctx, j.hooked(ctx), j.d, err, j.began)
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
	return context.WithTimeout(j.q.ctx, settleTime) // a job that has outlived its stream
}

// handBack returns the job, after the pause, with its attempt uncounted.
func (j *Job) handBack(pause time.Duration) {
	if j.settled.CompareAndSwap(false, true) {
		ctx, cancel := j.context()
		defer cancel()
		j.q.handBack(ctx, j.d, pause)
	}
}

// Snooze returns an error for a handler to return when the job is to be attempted again after d, though nothing has
// failed: the policy is not asked, and the attempt does not count. It panics when d is negative.
func Snooze(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("durable: Snooze: d is %v, want at least 0", d))
	}
	return &snooze{d}
}

type snooze struct{ d time.Duration }

func (s *snooze) Error() string { return fmt.Sprintf("durable: snooze for %v", s.d) }
