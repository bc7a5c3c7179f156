package retry

import (
	"context"
	"time"
)

// Wait waits for d, a delay that Failed has returned, on the policy's clock. A signal of the policy ends the wait. Wait
// returns nil when the next attempt is due, else the *Error of an operation whose context has ended. An engine that
// waits in its own way calls Cancelled in its place.
func (o *Operation) Wait(d time.Duration) error {
	if d > 0 {
		o.wait(d)
	}
	return o.Cancelled()
}

// wait returns when d > 0 has passed, or one of the policy's signals has fired, or ctx has ended.
func (o *Operation) wait(d time.Duration) {
	o.theClock() // sets the timer's
	if o.config.signals == nil {
		o.timer.Wait(o.ctx, d)
		return
	}
	fired := make(chan struct{}, 1)
	for _, s := range o.config.signals {
		s.Notify(fired)
	}
	defer func() {
		for _, s := range o.config.signals {
			s.Stop(fired)
		}
	}()
	if o.config.fires() != o.state.fires {
		return
	}
	o.timer.Set(d)
	select {
	case <-o.timer.C():
	case <-fired:
	case <-o.ctx.Done():
	}
	o.timer.Stop()
}

// Cancelled returns nil until the operation's context has ended, then the operation's *Error. It is called before an
// attempt, so the retry for which the operation has waited does not count.
func (o *Operation) Cancelled() error {
	if o.ctx.Err() == nil {
		return nil
	}
	retries := o.state.retries
	switch {
	case o.fired():
		o.state.restart()
		retries = 0
	case o.waiting:
		retries = max(0, retries-1)
	}
	return o.cancelled(nil, retries)
}

// Done ends the operation, calls OnDone, and returns end.Err. Without an error the last attempt has succeeded: the
// budget is refunded, once for each of end.Items, at least once, and OnRecovered is called if there were failures. An
// error is what Failed, Refused, Wait or Cancelled has returned; or the last attempt's own, if the operation ends with
// it whatever the policy says. Nothing may be called on o afterwards.
func (o *Operation) Done(end Outcome) error {
	attempts := o.state.attempts
	switch {
	case end.Err == nil:
		attempts++
		o.lastOver(attempts, &end)
		if !o.reset {
			o.config.refund(max(1, end.Items))
		}
		o.Works()
	case o.running:
		attempts++
		o.lastOver(attempts, &end)
		o.config.refund(end.Items)
	}
	if end.Lasted > 0 && o.state.attempts == 0 && o.config.onDone != nil {
		o.beganBefore(o.now().Add(-end.Lasted))
	}
	o.end(attempts, end.Err)
	return end.Err
}

// lastOver calls the hooks for the end of the last attempt, which is that of the operation too.
func (o *Operation) lastOver(n int, end *Outcome) {
	if o.config.onAttempt == nil {
		return
	}
	if end.Lasted == 0 && !o.start.IsZero() {
		end.Lasted = o.now().Sub(o.start)
	}
	o.attemptOver(n, end.Err, end.Lasted)
}

// end calls the hooks for the end of the operation.
func (o *Operation) end(attempts int, err error) {
	o.outageOver()
	c := o.config
	if o.logged {
		c.logEnded(o.ctx, attempts, err)
	}
	if c.onDone != nil {
		c.done(o.ctx, Result{Err: err, Attempts: attempts, Elapsed: o.now().Sub(o.began)})
	}
}

func (c *config) done(ctx context.Context, r Result) {
	r.Retries = max(0, r.Attempts-1)
	for _, hook := range c.onDone {
		hook(ctx, r)
	}
}
