package retry

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// The methods here are for those who drive a policy by Decide, and wait in a way of their own.

// Clock returns the clock that p goes by under ctx: its own (WithClock), else that of ctx, else the system's.
func (p Policy) Clock(ctx context.Context) stream.Clock { return p.settings().clockFor(ctx) }

// AttemptContext returns the context for one call: under AttemptTimeout it has a deadline of its own on p's clock, else
// it is ctx. The function must be called when the call is over.
func (p Policy) AttemptContext(ctx context.Context) (context.Context, context.CancelFunc) {
	c := p.settings()
	if c.attemptTimeout < 0 {
		return ctx, func() {}
	}
	return withTimeout(ctx, c.clockFor(ctx), c.attemptTimeout)
}

// HasAttemptTimeout reports whether p has an AttemptTimeout.
func (p Policy) HasAttemptTimeout() bool { return p.settings().attemptTimeout >= 0 }

// TimesAttempts reports whether Decide looks at how long a failed attempt lasted, as it does under ResetAfter.
func (p Policy) TimesAttempts() bool { return p.settings().resetAfter > 0 }

// Fires returns how often p's signals (ResetOn) have fired. The wait of a row whose Fires is another number is over, and
// the row starts again: Row.Restart.
func (p Policy) Fires() uint64 { return p.settings().fires() }

// Watch has p's signals send to fired whenever they fire, until stop is called. A send that would block is left out, so
// fired needs room for one. It reports false, and there is nothing to stop, when p has no signals.
func (p Policy) Watch(fired chan<- struct{}) (stop func(), ok bool) {
	c := p.settings()
	if c.signals == nil {
		return func() {}, false
	}
	for _, s := range c.signals {
		s.join(fired)
	}
	return func() {
		for _, s := range c.signals {
			s.leave(fired)
		}
	}, true
}

// Restart starts the row again, at the given count of the policy's Fires.
func (r *Row) Restart(fires uint64) {
	r.restart()
	r.Fires = fires
}
