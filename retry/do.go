package retry

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/attempt"
)

// Do calls f until it succeeds, and waits between the calls as p decides. f is called again after a failure: it must be
// idempotent, or continue where it stopped.
//
// It returns what the last call of f returned: its value and nil, or after a failure its value and
//
//   - the error itself, if p's predicate refuses it or it is marked as Permanent;
//   - otherwise an *Error, with the error as Last and the reason for giving up as Cause: a limit (ErrExhausted),
//     ErrDeadline, ErrBudget, or the cause of ctx if ctx has ended before, during or after a call.
//
// The first call receives ctx itself, unless p has an AttemptTimeout. Later calls receive a context with their number
// (stream.AttemptFrom). A policy around Do retries its *Error like any other error: three layers of three retries make
// 64 calls. Retry in one layer, and call the others under WithoutRetries.
//
// If ctx has ended before the first call, f is not called. A panic of f reaches the caller.
func Do[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (T, error) {
	if f == nil {
		panicf("Do", "f is nil")
	}
	c := p.settings()
	if !c.timed && c.attemptTimeout < 0 && ctx.Err() == nil {
		v, err := f(ctx)
		if err == nil {
			c.refund(1)
			return v, nil
		}
		return again(ctx, c, f, v, err)
	}
	return slowDo(ctx, c, f)
}

// Run is Do for a function without a result.
func Run(ctx context.Context, p Policy, f func(context.Context) error) error {
	if f == nil {
		panicf("Run", "f is nil")
	}
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// slowDo is Do for a call that is timed, whose context has ended, or that must not be made.
func slowDo[T any](ctx context.Context, c *config, f func(context.Context) (T, error)) (v T, err error) {
	var op Operation
	op.begin(ctx, c)
	if err := op.Cancelled(); err != nil {
		return v, op.Done(Outcome{Err: err})
	}
	op.beginAttempt()
	v, err = call(ctx, &op, f)
	return loop(ctx, &op, f, v, err)
}

// again continues Do after a first call that failed.
func again[T any](ctx context.Context, c *config, f func(context.Context) (T, error), v T, err error) (T, error) {
	var op Operation
	op.begin(ctx, c)
	return loop(ctx, &op, f, v, err)
}

func loop[T any](ctx context.Context, op *Operation, f func(context.Context) (T, error), v T, err error) (T, error) {
	attempts := attempt.NewOperation(ctx)
	for err != nil {
		delay, end := op.Failed(Outcome{Err: err})
		if end == nil {
			end = op.Wait(delay)
		}
		if end != nil {
			return v, op.Done(Outcome{Err: end})
		}
		v, err = call(attempts.Attempt(op.beginAttempt()), op, f)
	}
	return v, op.Done(Outcome{})
}

// call calls f once.
func call[T any](ctx context.Context, op *Operation, f func(context.Context) (T, error)) (T, error) {
	if op.config.attemptTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withTimeout(ctx, op.theClock(), op.config.attemptTimeout)
		defer cancel()
	}
	return f(ctx)
}
