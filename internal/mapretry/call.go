package mapretry

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// called is the result of a call.
type called[T, U any] struct {
	as     verdict
	result result[T, U]  // set if the item is finished
	at     time.Duration // the time of the result; unknown if it was not needed
	due    time.Duration // set if the item must wait
}

type verdict uint8

const (
	finished verdict = iota
	putAside
	abandoned // the run is over
)

// call calls f for the item once, and records the result in c.
func (r *run[T, U]) call(it *item[T], c *called[T, U]) {
	c.as, c.at = abandoned, unknown
	if r.ctx.Err() != nil {
		return
	}
	ctx, deadline := r.ctx, r.deadline
	if r.Context != nil {
		ctx = r.Context(ctx, it.value)
		deadline, _ = ctx.Deadline()
		if ctx.Err() != nil {
			r.cancelled(ctx, it, c, r.clock.Now())
			return
		}
	}
	it.calls++
	value, lasted, err := r.attempt(ctx, it)
	switch {
	case err == nil:
		r.succeeded(ctx, it)
		c.finish(it, success, nil)
		c.result.value = value
		return
	case r.ctx.Err() != nil:
		it.cut(ctx, err, r.clock.Now())
		return
	}
	at := r.clock.Now()
	if ctx.Err() != nil {
		it.cut(ctx, err, at)
		r.cancelled(ctx, it, c, at)
		return
	}
	it.last = err
	r.failed(ctx, it, c, stream.Failure{Err: err, Lasted: lasted}, at, deadline)
}

// failed lets the policy decide about a failure.
func (r *run[T, U]) failed(ctx context.Context, it *item[T], c *called[T, U], f stream.Failure, at, deadline time.Time) {
	c.at = at.Sub(r.start)
	delay, end := r.policy.Decide(ctx, &it.state, f, at, deadline)
	if end == nil {
		c.as, c.due = putAside, after(c.at, delay)
		return
	}
	r.over(ctx, it, end)
	if r.DeadLetter == nil {
		c.finish(it, failure, end)
	} else {
		c.finish(it, deadLetter, asError(f.Err, end, &it.state, at))
	}
}

// finish records a result without a value, or without a value yet.
func (c *called[T, U]) finish(it *item[T], k kind, err error) {
	c.as = finished
	c.result = result[T, U]{seq: it.seq, calls: it.calls, item: it.value, kind: k, err: err}
}

// attempt calls f as retry.Do would.
func (r *run[T, U]) attempt(ctx context.Context, it *item[T]) (value U, lasted time.Duration, err error) {
	if it.calls > 1 {
		ctx = attempt.With(ctx, it.calls)
	}
	ctx, cancel := r.policy.AttemptContext(ctx)
	defer cancel()
	if !r.timed {
		value, err = r.f(ctx, it.value)
		return value, 0, err
	}
	began := r.clock.Now()
	if it.calls == 1 {
		it.first = began.Sub(r.start)
	}
	value, err = r.f(ctx, it.value)
	return value, r.clock.Now().Sub(began), err
}

// succeeded reports a success to the policy.
func (r *run[T, U]) succeeded(ctx context.Context, it *item[T]) {
	if r.observed && it.calls > 1 && ctx.Err() == nil {
		r.policy.Recovered(ctx, it.last, it.calls-1, r.clock.Now().Sub(it.state.First))
	}
	r.policy.Succeeded(1)
	r.over(ctx, it, nil)
}

// cancelled gives up an item whose own context has ended.
func (r *run[T, U]) cancelled(ctx context.Context, it *item[T], c *called[T, U], at time.Time) {
	end := it.cancelled(ctx, at)
	c.at = at.Sub(r.start)
	r.over(ctx, it, end)
	if r.DeadLetter == nil {
		c.finish(it, dropped, end)
	} else {
		c.finish(it, deadLetter, end)
	}
}

// over calls OnDone for an item that is finished.
func (r *run[T, U]) over(ctx context.Context, it *item[T], err error) {
	if !r.observed {
		return
	}
	var elapsed time.Duration
	if r.timed && it.calls > 0 {
		elapsed = r.now() - it.first
	}
	r.policy.Done(ctx, it.calls, elapsed, err)
}

// asError returns the *retry.Error for the policy's decision to end an item after a failure.
func asError(failure, end error, s *retry.State, at time.Time) *retry.Error {
	if e, ok := end.(*retry.Error); ok {
		// A failure that the policy returns unchanged can be such an error too, from a retry inside f.
		if inner, ok := errors.AsType[*retry.Error](failure); !ok || inner != e {
			return e
		}
	}
	e := &retry.Error{Cause: retry.ErrRefused, Last: end, Attempts: s.Attempts, Elapsed: at.Sub(s.First), Retries: s.Retries}
	if s.Retries > 0 {
		e.Down = at.Sub(s.Since)
	}
	return e
}
