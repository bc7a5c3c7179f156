package attempt

import (
	"context"
	"time"
)

// Engine is what an engine of this module with many operations at once, which waits in its own way, uses of a policy
// beyond what package retry exports.
type Engine struct {
	// Plain says that the policy has nothing to do with an attempt that succeeds, nor with an operation that is
	// cancelled: it has no AttemptTimeout, ResetAfter, budget or Log, and no hook but OnGiveUp. Then an operation is
	// needed only to decide about a failure.
	Plain bool
	// Fires returns a number that changes with each fire of the policy's signals, 0 if it has none.
	Fires func() uint64
	// Notify makes the signals send to a channel until Stop is called. A send that would block is skipped, so the
	// channel needs a buffer of one.
	Notify, Stop func(chan<- struct{})
}

// Package retry sets these.
var (
	// EngineOf returns the Engine of a retry.Policy.
	EngineOf func(policy any) Engine
	// EndError returns the *retry.Error of a *retry.Operation that its engine ends after a failure, for a cause of the
	// engine's own. It calls no hook.
	EndError func(operation any, cause error) error
	// WaitFor waits under a retry.Policy for d, which a failure dictates to other operations than its own.
	WaitFor func(ctx context.Context, policy any, failure error, d time.Duration) error
	// ObserverOf returns the Observer of a stream.RetryHandler, nil if it has none, and whether the observations also
	// decide, in place of the handler's stream: the handler is the policy itself.
	ObserverOf = func(handler any) (o Observer, decides bool) { return nil, false }
)
