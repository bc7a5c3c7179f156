package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// withTimeout is context.WithTimeout on any clock.
func withTimeout(ctx context.Context, clock stream.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := clock.(interface{ SystemClock() }); ok {
		return context.WithTimeout(ctx, d)
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return timeoutContext{inner}, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// timeoutContext is a context that ends by a clock of its own. It reports its parent's Deadline: one on another clock
// would mislead what waits on the system's, network connections say.
type timeoutContext struct{ context.Context }

func (c timeoutContext) Err() error {
	if err := c.Context.Err(); err == nil || context.Cause(c.Context) != context.DeadlineExceeded {
		return err
	}
	return context.DeadlineExceeded
}
