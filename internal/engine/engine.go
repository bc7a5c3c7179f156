// Package engine gives this repository's engines the parts of a retry.Policy that users do not need. MapRetry,
// retryhttp and the durable queue are engines: they measure time and wait in their own way.
package engine

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Policy is a retry.Policy as an engine sees it. S is retry.State, which this package cannot import.
type Policy[S any] interface {
	// Clock returns the clock that the policy uses under ctx: its own (WithClock), else that of ctx, else the system
	// clock.
	Clock(ctx context.Context) stream.Clock
	// AttemptContext returns the context for one call: under AttemptTimeout it has its own deadline on the policy's clock,
	// else it is ctx. The returned function must be called when the call is over.
	AttemptContext(ctx context.Context) (context.Context, context.CancelFunc)
	// TimesAttempts reports whether the policy uses a Failure's Lasted.
	TimesAttempts() bool
	// Observes reports whether Recovered or Done calls any hook.
	Observes() bool
	// Fires returns 0 if the policy has no signals (ResetOn), else one more than the number of their fires. If the number in a State differs, its wait is
	// over.
	Fires() uint64
	// Watch makes the policy's signals send to fired whenever they fire, until stop is called. A send that would block is
	// skipped, so fired needs a buffer of one. Without signals Watch returns false, and nothing must be stopped.
	Watch(fired chan<- struct{}) (stop func(), ok bool)
	// Decide is retry.Policy.Decide with the operation's context, which it passes to the hooks.
	Decide(ctx context.Context, s *S, f stream.Failure, at, deadline time.Time) (time.Duration, error)
	// Succeeded refunds the budget for an attempt that ended without an error.
	Succeeded(items int64)
	// Recovered calls the hooks of an operation that works again.
	Recovered(ctx context.Context, last error, retries int, down time.Duration)
	// Done calls the hooks of an operation that is over.
	Done(ctx context.Context, attempts int, elapsed time.Duration, err error)
	// Quiet returns the policy that logs everything at DEBUG, for an engine with many operations at once.
	Quiet() Policy[S]
}

// Refused is a failure that an engine cannot retry: the policy gives up, with retry.ErrRefused as the Cause.
type Refused interface {
	error
	Refused()
}

// Of returns the retry.Policy p for an engine; S is retry.State.
func Of[S any](p any) Policy[S] { return open(p).(Policy[S]) }

// BeforeWait returns p, a retry.Policy, with f called for each retry of Do, Run and Attempts, after the OnRetry hooks
// and before the wait. Unlike those hooks, f does not make the policy time its attempts.
func BeforeWait[P any](p P, f func(context.Context)) P { return beforeWait(p, f).(P) }

// Register is called by package retry, with the function that returns the Policy[retry.State] of a retry.Policy, and
// with the function for BeforeWait.
func Register(of func(p any) any, before func(p any, f func(context.Context)) any) {
	open, beforeWait = of, before
}

var (
	open       func(p any) any
	beforeWait func(p any, f func(context.Context)) any
)
