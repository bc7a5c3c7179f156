package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
)

// Clock is the time as operators see it. Implementations must be safe for concurrent use. AfterFunc calls f once, on a
// goroutine of its own, when d has passed; operators never call it with d ≤ 0.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) Stopper
}

// Stopper stops what Clock.AfterFunc has armed. Operators call Stop and do not rely on its answer.
type Stopper interface{ Stop() bool }

// WithClock returns a context under which every time-based operator uses the clock c: its now for times, its AfterFunc
// for waits. Any clock with these two methods will do, as it is: benbjohnson/clock's Clock and *Mock, clockwork's,
// k8s.io/utils' WithDelayedExecution, and a Clock of this package; T is inferred. A nil c panics.
//
// The clock does not govern deadlines that a context already has: these stay on the clock that made them.
func WithClock[T interface{ Stop() bool }](ctx context.Context, c interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) T
}) context.Context {
	if c == nil {
		panic("stream: WithClock: c is nil")
	}
	return context.WithValue(ctx, clockKey{}, AsClock(c))
}

// AsClock returns c as a Clock: any clock that WithClock takes. A nil c panics.
func AsClock[T interface{ Stop() bool }](c interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) T
}) Clock {
	if c == nil {
		panic("stream: AsClock: c is nil")
	}
	if clock, ok := any(c).(Clock); ok {
		return clock
	}
	return adapted[T]{c}
}

// ClockFrom returns the clock that WithClock put into ctx, or the system's.
func ClockFrom(ctx context.Context) Clock {
	if c, ok := ctx.Value(clockKey{}).(Clock); ok {
		return c
	}
	return systemClock{}
}

type clockKey struct{}

// adapted makes a Clock of a clock whose AfterFunc returns a type of its own.
type adapted[T interface{ Stop() bool }] struct {
	clock interface {
		Now() time.Time
		AfterFunc(d time.Duration, f func()) T
	}
}

func (a adapted[T]) Now() time.Time { return a.clock.Now() }

func (a adapted[T]) AfterFunc(d time.Duration, f func()) Stopper { return a.clock.AfterFunc(d, f) }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Stopper { return time.AfterFunc(d, f) }

// SystemClock tells the alarms that a time.Timer will do.
func (systemClock) SystemClock() {}

// since returns the time that has passed on c since t.
func since(c Clock, t time.Time) time.Duration {
	if _, ok := c.(systemClock); ok {
		return time.Since(t) // reads half of what time.Now does
	}
	return c.Now().Sub(t)
}

// newAlarm returns an alarm on the clock of ctx; whoever asks for it stops it.
func newAlarm(ctx context.Context) alarm.Alarm[Stopper] {
	return alarm.New[Stopper](ClockFrom(ctx))
}
