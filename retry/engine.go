package retry

import "github.com/retrywhen/retrywhen/internal/attempt"

// This file is for code with many operations at once that waits in its own way, such as operators.MapRetry.

// Quiet is for code that has many operations at once: Log logs everything at DEBUG, and OnOutage is not called.
func Quiet() Option { return func(c *config) { c.quiet = true } }

func init() {
	attempt.ObserverOf = observerOf
	attempt.EngineOf = func(policy any) attempt.Engine {
		c := policy.(Policy).settings()
		return attempt.Engine{Plain: c.plain, Fires: c.fires, Notify: c.notify, Stop: c.stop}
	}
	attempt.EndError = func(operation any, cause error) error {
		o := operation.(*Operation)
		return o.errorOf(cause, o.state.retries)
	}
}

// notify makes the policy's signals send to w until stop is called. A send that would block is skipped.
func (c *config) notify(w chan<- struct{}) {
	for _, s := range c.signals {
		s.notify(w)
	}
}

func (c *config) stop(w chan<- struct{}) {
	for _, s := range c.signals {
		s.stop(w)
	}
}
