package retry

import "context"

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
func Do[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (v T, err error) {
	if f == nil {
		panicf("Do", "f is nil")
	}
	c := p.settings()
	if c.early || ctx.Err() != nil {
		return loop(ctx, c, f, v, nil)
	}
	if v, err = f(ctx); err == nil { // without an Operation, which a first success rarely needs
		c.refund(1)
		return v, nil
	}
	return loop(ctx, c, f, v, err)
}

// loop makes the calls of Do. failure is the error of the first call, if it was made already.
func loop[T any](ctx context.Context, c *config, f func(context.Context) (T, error), v T, failure error) (T, error) {
	var (
		op  Operation
		end error
	)
	op.begin(ctx, c)
	if failure == nil {
		end = op.Cancelled()
	} else {
		end = op.next(failure)
	}
	for end == nil {
		next := op.Begin(ctx)
		if c.attemptTimeout < 0 {
			v, failure = f(next)
		} else {
			v, failure = callWithin(next, &op, f)
		}
		if failure == nil {
			return v, op.Done(Outcome{})
		}
		end = op.next(failure)
	}
	return v, op.Done(Outcome{Err: end})
}

// callWithin calls f under the policy's AttemptTimeout.
func callWithin[T any](ctx context.Context, op *Operation, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := withTimeout(ctx, op.theClock(), op.config.attemptTimeout)
	defer cancel()
	return f(ctx)
}

// Run is Do for a function without a result.
func Run(ctx context.Context, p Policy, f func(context.Context) error) error {
	if f == nil {
		panicf("Run", "f is nil")
	}
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}
