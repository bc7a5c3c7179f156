// Package timer contains the one place where the library waits, and what it waits on: the clock that package stream
// injects into a context, and a reusable timer on that clock or the system clock.
package timer

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Timer waits on one clock, any number of times, one wait at a time. It must be used on one goroutine.
//
// On the system clock all its waits reuse one time.Timer. On an injected clock each wait has its own channel, so that a
// callback that comes late, or twice, or after Stop, has no effect.
type Timer struct {
	clock   Clock
	timer   *time.Timer      // on the system clock
	pending Stopper          // on an injected clock
	fired   <-chan time.Time // nil when nothing is set
}

// New returns a timer on the clock. It is not set. It allocates nothing before the first Set.
func New(c Clock) Timer { return Timer{clock: c} }

// Clock returns the clock, nil for the zero Timer.
func (a *Timer) Clock() Clock { return a.clock }

// Now returns the time of the timer's clock.
func (a *Timer) Now() time.Time { return a.clock.Now() }

// Set makes the timer go off once after d > 0, and replaces the earlier setting. Arming the clock is the last thing it
// does.
func (a *Timer) Set(d time.Duration) {
	a.Stop()
	switch {
	case !IsSystem(a.clock):
		fired := make(chan time.Time, 1)
		a.fired = fired
		a.pending = a.clock.AfterFunc(d, func() {
			select {
			case fired <- time.Time{}:
			default: // some mocks fire a timer twice
			}
		})
	case a.timer == nil:
		a.timer = time.NewTimer(d)
		a.fired = a.timer.C
	default:
		a.fired = a.timer.C
		a.timer.Reset(d)
	}
}

// C returns the channel that is ready when the timer has gone off, for use in a select. It is nil when the timer is not
// set. The received value has no meaning. A second receive may or may not block.
func (a *Timer) C() <-chan time.Time { return a.fired }

// Stop unsets the timer: C is nil afterwards. A timer that is no longer needed must be stopped.
func (a *Timer) Stop() {
	if a.fired != nil && a.pending != nil {
		a.pending.Stop() // its result is not needed: the old channel is dropped
	}
	a.fired = nil // an unused time.Timer costs nothing
}

// Wait returns nil when d has passed, or ending.ContextError(ctx) when ctx ends first, or when both have happened.
func (a *Timer) Wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		a.Set(d)
		select {
		case <-a.fired:
		case <-ctx.Done():
		}
		a.Stop()
	}
	return ending.ContextError(ctx)
}
