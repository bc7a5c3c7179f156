package durable

import (
	"context"
	"sync/atomic"
	"time"
)

// Job is one attempt at a job.
type Job struct {
	// ID is the same in all attempts: what to make them idempotent with.
	ID string
	// Data is what was put. It must not be changed.
	Data []byte
	// Attempt counts the attempts, from 1. An attempt whose outcome was not stored counts again.
	Attempt int
	// Put is when the job was put, by the server's clock, or by the client's if it was put by PutAt.
	Put time.Time
	// FirstFailure is when the first attempt failed, and LastError the text of the last failure.
	FirstFailure time.Time
	LastError    string
	// Redelivered says that the server has given out this attempt before: the worker that had it died, or was too
	// silent, or handed it back. The attempt may have been made, wholly or in part.
	Redelivered bool

	q       *Queue
	d       *delivery
	began   time.Time
	settled atomic.Bool
}

// begin returns the next attempt at the delivery, or nil if there is none to be made.
func (q *Queue) begin(ctx context.Context, d *delivery, now time.Time) *Job {
	if q.wasTaken(ctx, d, now) {
		q.drop(d)
		return nil
	}
	if d.deliveries > 1 && !d.attempted() {
		if q.movedOn(ctx, d) {
			q.drop(d)
			return nil
		}
		if d.deliveries > uint64(q.config.MaxDeliveries) {
			q.bury(ctx, d, ErrAbandoned, now) // or hands it back, and has told the Logger
			return nil
		}
	}
	q.counts.attempts.Add(1)
	return &Job{
		ID: d.state.id, Data: d.msg.Data(), Attempt: d.state.row.Attempts + 1, Put: d.state.put,
		FirstFailure: d.state.row.First, LastError: d.state.lastError, Redelivered: d.deliveries > 1,
		q: q, d: d, began: now,
	}
}

// Done reports that the attempt has succeeded. The job is removed. Done and Fail are for jobs of Jobs; in Work what the
// handler returns does it, unless one of them was called. Only the first report counts, any other is ErrSettled; after
// Close, which has handed the job back, it is ErrClosed.
func (j *Job) Done() error {
	if !j.settled.CompareAndSwap(false, true) {
		return &failure{"done: job " + j.ID, ErrSettled, nil, ""}
	}
	j.q.config.Policy.Succeeded(0)
	err := j.q.acknowledge(j.d)
	if err == nil {
		j.q.counts.done.Add(1)
	}
	return err
}

// Fail reports that the attempt has failed with err, and has the policy decide. It returns when the server has stored
// the retry or the dead letter, or at once if the wait is so short that it is held here. When it returns an error the
// outcome was not stored: the attempt will be made again, when the lease has run out at the latest. Fail(nil) is Done.
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
	ctx := j.d.feed.ctx
	if ctx.Err() != nil { // a job that has outlived its stream
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(j.q.ctx, settleTime)
		defer cancel()
	}
	return j.q.fail(ctx, j.d, err, time.Since(j.began))
}

// handBack returns the job with its attempt uncounted.
func (j *Job) handBack() {
	if j.settled.CompareAndSwap(false, true) {
		j.q.handBack(j.d, 0)
	}
}
