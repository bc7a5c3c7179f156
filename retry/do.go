package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Do calls f until it succeeds, and waits between the calls as p says. What f does must be idempotent, or go on where
// it stopped: it is done again.
//
// It returns what the last call of f returned: its value and nil, or with an error its value and
//
//   - the error itself, if p's predicate refuses it or it is marked as Permanent (without the mark),
//   - else an *Error, with the error as Last and the reason to give up as Cause: ErrExhausted, ErrDeadline, ErrBudget,
//     or context.Cause(ctx) when ctx has ended, be it before, during or after a call.
//
// ctx is passed to f as it is, unless p has an AttemptTimeout. If ctx has ended before the first call, f is not called.
// A panic of f passes through. Do starts no goroutine. A nil f panics.
func Do[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (T, error) {
	if f == nil {
		panicf("Do", "f is nil")
	}
	c := p.settings()
	if ctx.Err() == nil && c.attemptTimeout < 0 && c.resetAfter < 0 {
		v, err := f(ctx)
		if err == nil {
			c.succeeded()
			return v, nil
		}
		return again(ctx, p, f, v, err)
	}
	return slowDo(ctx, p, f)
}

// Run is Do for a function without a result.
func Run(ctx context.Context, p Policy, f func(context.Context) error) error {
	if f == nil {
		panicf("Run", "f is nil")
	}
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// slowDo is Do when a call needs its time taken or its context ended, or is not to be made.
func slowDo[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (v T, err error) {
	op := newOperation(ctx, p)
	if ctx.Err() != nil {
		return v, op.abandon(ctx, nil)
	}
	v, lasted, err := call(ctx, &op, f)
	return loop(ctx, &op, f, v, lasted, err)
}

// again is Do after a first call that failed.
func again[T any](ctx context.Context, p Policy, f func(context.Context) (T, error), v T, err error) (T, error) {
	op := newOperation(ctx, p)
	return loop(ctx, &op, f, v, 0, err)
}

func loop[T any](ctx context.Context, op *operation, f func(context.Context) (T, error), v T, lasted time.Duration, err error) (T, error) {
	for err != nil {
		if err := op.failed(ctx, stream.Failure{Err: err, Lasted: lasted}); err != nil {
			return v, err
		}
		v, lasted, err = call(ctx, op, f)
	}
	op.config.succeeded()
	return v, nil
}

// call makes one call of f; it takes its time if the policy asks for it.
func call[T any](ctx context.Context, op *operation, f func(context.Context) (T, error)) (v T, lasted time.Duration, err error) {
	c := op.config
	if c.attemptTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withTimeout(ctx, op.clock, c.attemptTimeout)
		defer cancel()
	}
	if c.resetAfter < 0 {
		v, err = f(ctx)
		return v, 0, err
	}
	began := op.clock.Now()
	v, err = f(ctx)
	return v, op.clock.Now().Sub(began), err
}
