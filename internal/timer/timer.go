// Package timer is the one place where the library waits: a reusable timer on the system's clock or an injected one.
package timer

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Clock is what a Timer needs of a clock; S is what its AfterFunc returns.
type Clock[S Stopper] interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) S
}

// Stopper stops what AfterFunc armed.
type Stopper interface{ Stop() bool }

// System marks the clock that is the system's own: a Timer on it uses a time.Timer.
type System interface{ SystemClock() }

// Timer is one wait at a time on one clock, any number of times. It belongs to one goroutine.
//
// On the system's clock all its waits reuse one time.Timer. On an injected clock each wait has a channel of its own, so
// that a callback that comes late, or twice, or after Stop, reaches nobody.
type Timer[S Stopper] struct {
	clock   Clock[S]
	system  bool
	timer   *time.Timer      // of the system's clock
	pending S                // of an injected one
	fired   <-chan time.Time // nil when nothing is set
}

// New returns a timer on the clock that is not set. It allocates nothing before the first Set.
func New[S Stopper](clock Clock[S]) Timer[S] {
	_, system := clock.(System)
	return Timer[S]{clock: clock, system: system}
}

// Now returns the time of the timer's clock.
func (a *Timer[S]) Now() time.Time { return a.clock.Now() }

// Set has the timer go off once after d > 0, and forgets what was set before. Arming the clock is the last thing it
// does.
func (a *Timer[S]) Set(d time.Duration) {
	a.Stop()
	switch {
	case !a.system:
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

// C returns the channel that is ready when what was last set has gone off, nil when nothing is set: it can stand in a
// select. The value received means nothing; a second receive may block or not.
func (a *Timer[S]) C() <-chan time.Time { return a.fired }

// Stop unsets the timer: C is nil afterwards. An timer that is no longer needed must be stopped.
func (a *Timer[S]) Stop() {
	if a.fired != nil && !a.system {
		a.pending.Stop() // what it answers is of no use: the old channel is forgotten
	}
	a.fired = nil // a time.Timer from which nobody receives costs nothing
}

// Wait returns nil when d has passed, or ending.ContextError(ctx) when ctx ends first - also when both have.
func (a *Timer[S]) Wait(ctx context.Context, d time.Duration) error {
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
