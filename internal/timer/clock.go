package timer

import (
	"context"
	"time"
)

// Stopper stops a timer that AfterFunc has armed; it is stream.Stopper.
type Stopper = interface{ Stop() bool }

// Clock is the time as operators see it. It has the methods of stream.Clock, so either may be used as the other.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) Stopper
}

type clockKey struct{}

// WithClock returns a context that carries c.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// ClockFrom returns the clock that ctx carries, or the system clock.
func ClockFrom(ctx context.Context) Clock {
	if c, ok := ctx.Value(clockKey{}).(Clock); ok {
		return c
	}
	return System{}
}

// System is the system clock.
type System struct{}

// Now returns time.Now().
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls time.AfterFunc.
func (System) AfterFunc(d time.Duration, f func()) Stopper { return time.AfterFunc(d, f) }

// IsSystem reports whether c is the system clock, on which timers use a time.Timer.
func IsSystem(c Clock) bool { return c == Clock(System{}) }

// Since returns the time that has passed on c since t.
func Since(c Clock, t time.Time) time.Duration {
	if IsSystem(c) {
		return time.Since(t) // cheaper than time.Now: reads only the monotonic clock
	}
	return c.Now().Sub(t)
}
