package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
)

// Wait waits for d, a delay that Failed has returned, on the policy's clock. A signal of the policy ends the wait. Wait
// returns nil when the next attempt is due, else the *Error of an operation whose context has ended. An engine that
// waits in its own way calls Cancelled in its place.
func (o *Operation) Wait(d time.Duration) error {
	if d > 0 {
		if o.theClock(); o.state.fires == 0 {
			o.state.fires = o.config.fires()
		}
		o.config.wait(o.ctx, &o.timer, d, o.state.fires)
	}
	return o.Cancelled()
}

// wait returns when d has passed, or ctx has ended, or the policy's signals have fired since the given number of fires.
func (c *config) wait(ctx context.Context, t *timer.Timer, d time.Duration, fires uint64) {
	switch {
	case d <= 0:
		return
	case c.signals == nil:
		_ = t.Wait(ctx, d)
		return
	}
	fired := make(chan struct{}, 1)
	c.notify(fired)
	defer c.stop(fired)
	if c.fires() != fires {
		return
	}
	t.Set(d)
	select {
	case <-t.C():
	case <-fired:
	case <-ctx.Done():
	}
	t.Stop()
}

// Cancelled returns nil until the operation's context has ended, then the operation's *Error. It is called before an
// attempt, so the retry for which the operation has waited does not count.
func (o *Operation) Cancelled() error {
	o.mustHaveBegun()
	if o.ctx.Err() == nil {
		return nil
	}
	retries := o.state.retries
	switch {
	case o.config.signals != nil && o.fired():
		o.state.restart()
		retries = 0
	case !o.running && !o.planned:
		retries = max(0, retries-1)
	}
	return o.cancelled(nil, retries)
}

// Done ends the operation, calls OnDone, and returns end.Err. Without an error the last attempt has succeeded: the
// budget is refunded, once for each of end.Items, at least once, and OnRecovered is called if there were failures. An
// error is what Failed, Refused, Wait or Cancelled has returned; or the last attempt's own, if the operation ends with
// it whatever the policy says. Nothing may be called on o afterwards.
func (o *Operation) Done(end Outcome) error {
	o.done(&end, end.Err)
	return end.Err
}

// done ends the operation with err. last is the attempt that was not reported, if there is one.
func (o *Operation) done(last *Outcome, err error) {
	o.mustHaveBegun()
	c, attempts := o.config, o.state.attempts
	retries := attempts - o.state.others
	if err == nil || o.running {
		attempts++
		o.planned = o.isPlanned(last)
		if last.Lasted == 0 && c.onAttempt != nil && !o.start.IsZero() {
			last.Lasted = o.now().Sub(o.start)
		}
		o.reportAttempt(attempts, last)
	} else if !o.planned { // the last failure has no retry
		retries--
	}
	switch {
	case err == nil:
		if !o.reset {
			o.refund(max(1, last.Items))
		}
		o.Works()
	case o.running:
		o.refund(last.Items)
	}
	o.endOutage()
	if o.logged > 0 { // and neither a recovery nor that the policy gave up
		c.log(o.ctx, slog.LevelInfo, "retries ended", slog.Int("attempts", attempts), slog.Any("error", err))
	}
	if c.onDone == nil {
		return
	}
	if last.Lasted > 0 && o.state.attempts == 0 {
		o.beganBefore(o.now().Add(-last.Lasted))
	}
	r := Result{Err: err, Attempts: attempts, Retries: max(0, retries), Elapsed: o.now().Sub(o.began)}
	for _, hook := range c.onDone {
		hook(o.ctx, r)
	}
}
