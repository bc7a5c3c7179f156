package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
)

// Clock is the time as operators see it. Implementations must be safe for concurrent use. AfterFunc calls f once, on
// another goroutine, after d has passed. Operators never call it with d ≤ 0.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) Stopper
}

// Stopper stops a timer that Clock.AfterFunc has started. Operators call Stop and do not rely on its result.
type Stopper = interface{ Stop() bool }

// WithClock returns a context under which every time-based operator uses the clock c: Now for times and AfterFunc for
// waits. Any clock with these two methods works without an adapter: a Clock of this package, benbjohnson/clock's Clock
// and *Mock, clockwork's clocks, and k8s.io/utils' WithDelayedExecution. T is inferred. c may call back on its own
// goroutine, also under its own lock: no operator calls c in a callback.
//
// c does not affect the deadline of a context: that stays on the clock that made it.
func WithClock[T interface{ Stop() bool }](ctx context.Context, c interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) T
}) context.Context {
	if c == nil {
		panic("stream: WithClock: c is nil")
	}
	if own, ok := any(c).(Clock); ok {
		return timer.WithClock(ctx, own)
	}
	return timer.WithClock(ctx, adapted[T]{c})
}

// ClockFrom returns the clock that WithClock put into ctx, or the system clock.
func ClockFrom(ctx context.Context) Clock {
	return timer.ClockFrom(ctx)
}

// adapted makes a Clock of a clock whose AfterFunc returns its own type.
type adapted[T interface{ Stop() bool }] struct {
	clock interface {
		Now() time.Time
		AfterFunc(d time.Duration, f func()) T
	}
}

func (a adapted[T]) Now() time.Time { return a.clock.Now() }

func (a adapted[T]) AfterFunc(d time.Duration, f func()) Stopper { return a.clock.AfterFunc(d, f) }

// newTimer returns a timer on the clock of ctx. The caller must stop it.
func newTimer(ctx context.Context) timer.Timer {
	return timer.New(timer.ClockFrom(ctx))
}
