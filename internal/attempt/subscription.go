package attempt

import (
	"context"
	"fmt"
	"time"
)

// Subscription is the context of one subscription to a retried stream. It holds the policy's data for the subscription
// that a RetryObserver does not receive. It must be used on the subscription's goroutine.
type Subscription struct {
	context.Context // the subscriber's

	Elapsed   time.Duration // the time since the start of the subscription; set at its end
	Announced bool          // the policy must log the end of the current outage
}

type subscriptionKey struct{}

// Value returns the subscription itself for its key.
func (s *Subscription) Value(key any) any {
	if key == (subscriptionKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// String describes the context in the form that package context uses.
func (s *Subscription) String() string { return fmt.Sprint(s.Context) }

// Subscribed returns the subscription of ctx, nil if there is none, and the context for hooks: the subscriber's own if
// ctx is the subscription.
func Subscribed(ctx context.Context) (*Subscription, context.Context) {
	if s, ok := ctx.(*Subscription); ok {
		return s, s.Context
	}
	s, _ := ctx.Value(subscriptionKey{}).(*Subscription)
	return s, ctx
}
