package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/clock"
	"github.com/retrywhen/retrywhen/stream"
)

// withTimeout is context.WithTimeout on any clock.
func withTimeout(ctx context.Context, c stream.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if clock.IsSystem(c) {
		return context.WithTimeout(ctx, d)
	}
	inner, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	pending := context.AfterFunc(inner, func() { close(done) })
	timer := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return timeoutContext{inner, done}, func() {
		timer.Stop()
		stopped := pending()
		cancel(context.Canceled)
		if stopped {
			close(done)
		}
	}
}

// timeoutContext is a context that ends by its own clock. It reports its parent's Deadline: a deadline on another clock
// would mislead code that uses the system clock, such as network connections.
type timeoutContext struct {
	context.Context
	done chan struct{}
}

// Done returns another channel than the inner context does, because a context derived from that one would take its Err.
func (c timeoutContext) Done() <-chan struct{} { return c.done }

// Err returns an error only when Done is closed, as package context promises.
func (c timeoutContext) Err() error {
	err := c.Context.Err()
	if err == nil {
		return nil
	}
	<-c.done // it is being closed
	if context.Cause(c.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}
