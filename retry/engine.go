package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
)

// This file is for code with many operations at once that waits in its own way, such as operators.MapRetry.

// Quiet is for code that has many operations at once: Log logs everything at DEBUG, and OnOutage is not called.
func Quiet() Option { return func(c *config) { c.quiet = true } }

func init() {
	attempt.ObserverOf = observerOf
	attempt.EngineOf = func(policy any) attempt.Engine {
		c := policy.(Policy).settings()
		return attempt.Engine{Plain: c.plain, Fires: c.fires, Notify: c.notify, Stop: c.stop}
	}
	attempt.WaitFor = func(ctx context.Context, policy any, failure error, d time.Duration) error {
		return policy.(Policy).waitFor(ctx, failure, d)
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

// waitFor waits for d, which failure dictates to other operations too: as long as before a retry, but none is counted
// and no hook is called. It returns nil when the time has passed or a signal has fired, else an *Error.
func (p Policy) waitFor(ctx context.Context, failure error, d time.Duration) error {
	c, with := empty, p.settings()
	c.curve, c.curves, c.maxRetryAfter, c.name, c.signals, c.clock, c.rand =
		with.curve, with.curves, with.maxRetryAfter, with.name, with.signals, with.clock, with.rand
	var o Operation
	o.begin(ctx, &c)
	o.allowed = true // under WithoutRetries too
	end := o.next(RetryAfter(failure, d))
	if e, ok := end.(*Error); ok {
		e.Last = failure
	}
	return end
}
