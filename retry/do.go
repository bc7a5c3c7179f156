package retry

import (
	"context"
	"iter"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
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
func Do[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (v T, err error) {
	notNil("Do", "f", f == nil)
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
	var op Operation
	op.begin(ctx, c)
	var end error
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
	notNil("Run", "f", f == nil)
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// Attempt is one turn of an Attempts loop. It must be used on the loop's goroutine. After its turn, Fail and Reset have
// no effect.
type Attempt struct {
	n       int
	last    error     // of the attempt before
	failure error     // of this one
	loop    *attempts // nil when the turn is over
}

// N returns the number of this attempt in the whole loop, from 1. It is 0 if ctx had ended before the first one.
func (a *Attempt) N() int { return a.n }

// Err returns the error of the attempt before this one, nil for the first attempt.
func (a *Attempt) Err() error { return a.last }

// Fail records that this attempt has failed with err. When the body of the loop is over, the loop waits and then begins
// the next attempt. Fail(nil) records a success; a turn without Fail is a success too. The last call counts.
func (a *Attempt) Fail(err error) {
	if a.loop != nil {
		a.failure = err
	}
}

// Reset records that this attempt works: if it fails later, that failure is the first in a row. If there were failures
// before, the outage is over and OnRecovered is called. The first Reset of a turn refunds the budget.
func (a *Attempt) Reset() {
	if a.loop != nil {
		a.loop.operation().Reset()
	}
}

// Attempts returns p as a loop, for code that keeps its own control flow:
//
//	for a, err := range policy.Attempts(ctx) {
//		if err != nil {
//			return err // gave up: the loop ends here whatever the body does
//		}
//		conn, err := dial(ctx)
//		if err != nil {
//			a.Fail(err) // waits, then the next attempt
//			continue
//		}
//		a.Reset()           // healthy: the count starts again
//		a.Fail(serve(conn)) // Fail(nil), or no Fail at all, ends the loop
//	}
//
// The first turn begins at once. If there is no further attempt after a failure, the last turn has an error: the error
// that Do would return, an *Error or the failure itself. If ctx has ended before the first turn, there is only that
// last turn. The Attempt is never nil; in the last turn it is the one that failed. If the body leaves the loop, the
// loop does not wait. Leaving the loop in a turn that has not failed is a success. Each turn that succeeds, or in which
// Reset is called, refunds the budget once.
//
// AttemptTimeout does not apply to the loop, because the loop creates no context. Each range over the sequence is an
// operation of its own.
func (p Policy) Attempts(ctx context.Context) iter.Seq2[*Attempt, error] {
	return func(yield func(*Attempt, error) bool) {
		l := &attempts{ctx: ctx, config: p.settings()}
		a, end := &l.first, error(nil)
		if l.config.early || ctx.Err() != nil {
			end = l.operation().Cancelled()
		}
		for end == nil {
			if a.n > 0 {
				a = &Attempt{n: a.n, last: a.failure}
			}
			a.n++
			if l.op != nil {
				l.op.beginAttempt()
			}
			a.loop = l
			more := yield(a, nil)
			a.loop = nil
			if a.failure == nil && l.op == nil {
				l.config.refund(1)
				return
			}
			op := l.operation()
			if a.failure == nil || !more {
				_ = op.Done(Outcome{Err: a.failure})
				return
			}
			end = op.next(a.failure)
		}
		yield(a, l.op.Done(Outcome{Err: end}))
	}
}

// attempts is one run of an Attempts loop.
type attempts struct {
	ctx    context.Context
	config *config
	op     *Operation // nil until it is needed, which it rarely is in a loop that succeeds at once
	first  Attempt
}

// operation returns the operation, which begins now if there is none.
func (l *attempts) operation() *Operation {
	if l.op == nil {
		l.op = new(Operation)
		l.op.begin(l.ctx, l.config)
	}
	return l.op
}

// WithoutRetries returns a context under which every policy makes one attempt, as with Limit(0). Use it for an inner
// layer whose outer layer retries already, for tests, or to shed load. A failure then ends in an *Error with the Cause
// ErrWithoutRetries. It has no effect on stream.Stream's Retry, nor on a RetryHandler that is not a Policy.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey{}, struct{}{})
}

type withoutRetriesKey struct{}

func withoutRetries(ctx context.Context) bool { return ctx.Value(withoutRetriesKey{}) != nil }

// withTimeout is context.WithTimeout on any clock.
func withTimeout(ctx context.Context, c stream.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if timer.IsSystem(c) {
		return context.WithTimeout(ctx, d)
	}
	inner, cancel := context.WithCancelCause(ctx)
	pending := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return timeoutContext{ctx, inner}, func() {
		pending.Stop()
		cancel(nil)
	}
}

// timeoutContext is a context that ends with inner, whose cause is its error. A context derived from it must not find
// inner, because it would take inner's Err. So its values are those of the parent. So is its Deadline: one on another
// clock would mislead code that uses the system clock, such as network connections.
type timeoutContext struct {
	context.Context // the parent
	inner           context.Context
}

func (c timeoutContext) Done() <-chan struct{} { return c.inner.Done() }

func (c timeoutContext) Err() error {
	err := c.inner.Err()
	if err != nil && context.Cause(c.inner) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}
