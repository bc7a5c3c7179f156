package mapretry

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/retry"
)

// called is the result of a call.
type called[T, U any] struct {
	as     verdict
	result result[T, U]  // set if the item is finished
	at     time.Duration // the time of the result; unknown if it was not needed
	due    time.Duration // set if the item must wait
	fires  uint64        // how often the policy's signals had fired before the decision
}

type verdict uint8

const (
	finished verdict = iota
	putAside
	abandoned // the run is over
)

// call calls f for the item once, and records the result in c. The item's operation lives on the worker's stack;
// between its calls only its State is kept.
func (r *run[T, U]) call(it *item[T], c *called[T, U]) {
	c.as, c.at = abandoned, unknown
	if r.ctx.Err() != nil {
		return
	}
	ctx := r.contextOf(it)
	if r.engine.Plain && (r.Context == nil || ctx.Err() == nil) {
		r.plainCall(ctx, it, c)
		return
	}
	op := r.policy.Continue(ctx, it.state, it.last)
	if end := op.Cancelled(); end != nil {
		if r.ctx.Err() == nil { // else it has ended just now
			c.at = r.now()
			r.finish(it, c, &op, dropped, end)
		}
		return
	}
	it.attempts++
	value, err := r.attempt(ctx, it, &op)
	if err != nil {
		r.failed(ctx, it, c, &op, err)
		return
	}
	_ = op.Done(retry.Outcome{})
	c.succeed(it, value)
}

// plainCall is call for a policy that has nothing to do with a success: there is an operation only for a failure.
func (r *run[T, U]) plainCall(ctx context.Context, it *item[T], c *called[T, U]) {
	numbered := ctx
	if it.attempts++; it.attempts > 1 {
		numbered = attempt.With(ctx, int(it.attempts))
	}
	value, err := r.f(numbered, it.value)
	if err == nil {
		c.succeed(it, value)
		return
	}
	op := r.policy.Continue(ctx, it.state, it.last)
	r.failed(ctx, it, c, &op, err)
}

// failed lets the policy decide about a failure.
func (r *run[T, U]) failed(ctx context.Context, it *item[T], c *called[T, U], op *retry.Operation, err error) {
	at := r.clock.Now()
	c.at = at.Sub(r.began)
	c.fires = r.engine.Fires()
	delay, end := op.Failed(retry.Outcome{Err: err, At: at})
	it.state, it.last = op.State(), err
	switch {
	case end == nil:
		c.as, c.due = putAside, after(c.at, delay)
	case r.ctx.Err() != nil:
		it.cutOff, it.last = true, end
	case ctx.Err() != nil:
		r.finish(it, c, op, dropped, end)
	default:
		r.finish(it, c, op, fatal, end)
	}
}

// contextOf returns the context of an item's operation.
func (r *run[T, U]) contextOf(it *item[T]) context.Context {
	if r.Context == nil {
		return r.ctx
	}
	return r.Context(r.ctx, it.value)
}

// attempt calls f as retry.Do would.
func (r *run[T, U]) attempt(ctx context.Context, it *item[T], op *retry.Operation) (U, error) {
	ctx, cancel := op.Attempt(ctx)
	defer cancel()
	return r.f(ctx, it.value)
}

// finish ends the operation of an item that has not succeeded, with what its end is without a DeadLetter.
func (r *run[T, U]) finish(it *item[T], c *called[T, U], op *retry.Operation, k kind, end error) {
	_ = op.Done(retry.Outcome{Err: end})
	if r.DeadLetter != nil {
		k, end = deadLetter, asError(it.last, end, op)
	}
	c.finish(it, k, end)
}

func (c *called[T, U]) succeed(it *item[T], value U) {
	c.finish(it, success, nil)
	c.result.value = value
}

// finish records a result without a value, or without a value yet.
func (c *called[T, U]) finish(it *item[T], k kind, err error) {
	c.as = finished
	c.result = result[T, U]{seq: it.seq, attempts: int(it.attempts), item: it.value, kind: k, err: err}
}

// asError returns the *retry.Error for the policy's decision to end an item after a failure.
func asError(failure, end error, op *retry.Operation) *retry.Error {
	if e, ok := end.(*retry.Error); ok {
		// A failure that the policy returns unchanged can be such an error too, from a retry inside f.
		if inner, ok := errors.AsType[*retry.Error](failure); !ok || inner != e {
			return e
		}
	}
	escapes := *op // the operation itself stays on the stack
	return attempt.EndError(&escapes, retry.ErrRefused).(*retry.Error)
}
