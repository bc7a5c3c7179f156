package attempt

import (
	"context"
	"fmt"
	"time"
)

// Subscription is the context of one subscription to a retried stream, with what a policy keeps for it beyond what a
// RetryObserver gets. It belongs to the goroutine of the subscription.
type Subscription struct {
	context.Context // the subscriber's

	Elapsed   time.Duration // from the start of the subscription; set at its end
	Announced bool          // there is an outage that the policy has to log the end of
}

type subscriptionKey struct{}

// Value finds the subscription itself.
func (s *Subscription) Value(key any) any {
	if key == (subscriptionKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// String names the context as those of package context do.
func (s *Subscription) String() string { return fmt.Sprint(s.Context) }

// Subscribed returns the subscription that ctx belongs to, nil if it belongs to none, and the context for hooks: the
// subscriber's own if ctx is the subscription.
func Subscribed(ctx context.Context) (*Subscription, context.Context) {
	if s, ok := ctx.(*Subscription); ok {
		return s, s.Context
	}
	s, _ := ctx.Value(subscriptionKey{}).(*Subscription)
	return s, ctx
}
