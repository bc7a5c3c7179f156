package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/stream"
)

// waiter waits between the attempts of one operation.
type waiter struct {
	config *config
	clock  stream.Clock
	alarm  alarm.Alarm[stream.Stopper]
}

func (c *config) newWaiter(ctx context.Context) waiter {
	clock := c.clockFor(ctx)
	return waiter{config: c, clock: clock, alarm: alarm.New[stream.Stopper](clock)}
}

func (c *config) clockFor(ctx context.Context) stream.Clock {
	if c.clock != nil {
		return c.clock
	}
	return stream.ClockFrom(ctx)
}

// wait returns when d > 0 has passed, or one of the policy's signals has fired, which starts the row again, or ctx has
// ended.
func (w *waiter) wait(ctx context.Context, row *Row, d time.Duration) {
	if w.config.signals == nil {
		w.alarm.Wait(ctx, d)
	} else {
		w.waitForSignals(ctx, row, d)
	}
}

func (w *waiter) waitForSignals(ctx context.Context, row *Row, d time.Duration) {
	fired := make(chan struct{}, 1)
	for _, s := range w.config.signals {
		s.join(fired)
		defer s.leave(fired)
	}
	if w.config.fires() == row.Fires {
		w.alarm.Set(d)
		select {
		case <-w.alarm.C():
		case <-fired:
		case <-ctx.Done():
		}
		w.alarm.Stop()
	}
	if fires := w.config.fires(); fires != row.Fires && ctx.Err() == nil {
		row.Fires = fires
		row.restart()
	}
}
