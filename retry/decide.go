package retry

import (
	"log/slog"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Failed records that the attempt has failed, with f.Err, and lets the policy decide. It returns the delay before the
// next attempt, or the error with which the operation ends: an *Error, or f.Err itself. It does not wait. If the
// operation's context has ended, the result is an *Error with the context's cause.
//
// The values of f.Items refund the budget and end an outage, with OnRecovered; then OnAttempt is called, and OnRetry or
// OnGiveUp, and Log logs.
func (o *Operation) Failed(f Outcome) (time.Duration, error) { return o.failed(&f, nil) }

// Refused is Failed for a failure that the caller cannot retry: the policy gives up, with ErrRefused as the Cause. As
// after any failure, an error that is permanent, or that the predicate refuses, is returned unchanged.
func (o *Operation) Refused(f Outcome) error {
	_, end := o.failed(&f, ErrRefused)
	return end
}

// next returns nil when the attempt after the failure is due, else the error with which the operation ends.
func (o *Operation) next(failure error) error {
	delay, end := o.failed(&Outcome{Err: failure}, nil)
	if end == nil {
		end = o.Wait(delay)
	}
	return end
}

// failed counts a failure and decides about it. cause is why it cannot be retried, nil if it can.
func (o *Operation) failed(f *Outcome, cause error) (time.Duration, error) {
	if f.Err == nil {
		panicf("Operation.Failed", "f.Err is nil, want the failure; Done records a success")
	}
	o.mustHaveBegun()
	o.count(f)
	cancelled := ending.ContextError(o.ctx)
	if cancelled == nil || !o.planned && (o.last == nil || !ending.IsOf(o.ctx, f.Err)) {
		o.last = f.Err
	}
	if cancelled != nil { // OnGiveUp is not called: the caller gives up, not the policy
		return 0, o.errorOf(cancelled, o.state.retries)
	}
	return o.decide(f, cause)
}

// count counts the failed attempt, its values, and its outage.
func (o *Operation) count(f *Outcome) {
	c, s := o.config, &o.state
	if o.at = f.At; f.Lasted == 0 && o.running && c.timed {
		f.Lasted = o.failedAt().Sub(o.start)
	}
	if f.Items > 0 {
		o.refund(f.Items)
		o.Works()
	}
	if s.attempts++; s.attempts == 1 && c.onDone != nil {
		o.beganBefore(o.failedAt().Add(-f.Lasted))
	}
	if o.planned = o.isPlanned(f); c.onAttempt != nil {
		o.reportAttempt(s.attempts, f)
	}
	if o.planned {
		s.others++
	} else {
		if s.attempts-s.others == 1 {
			s.first = o.failedAt()
			if c.onDone != nil {
				s.lead = s.first.Sub(o.began)
			}
		}
		if s.failures++; s.failures == 1 {
			s.outage = o.failedAt().Sub(s.first)
		}
	}
	if o.reset {
		s.restart()
	}
	o.running, o.reset, o.worked = false, false, false
}

// isPlanned reports whether the end of the attempt is a planned one, which is no failure.
func (o *Operation) isPlanned(f *Outcome) bool {
	return (o.worked || f.Items > 0) && ending.IsPlanned(f.Err)
}

// beganBefore records that the operation began at the given time or earlier: before the Operation was made, if an
// engine makes it when the first attempt is over.
func (o *Operation) beganBefore(at time.Time) {
	if at.Before(o.began) {
		o.began = at
	}
}

// decide decides about a failure that was counted.
func (o *Operation) decide(f *Outcome, cause error) (delay time.Duration, end error) {
	c, s := o.config, &o.state
	simple := isSimple(f.Err)
	if !simple && ending.IsPermanent(f.Err) || o.refuses(f) {
		return 0, f.Err
	}
	if c.signals != nil && o.fired() || c.resets(f) {
		s.restart()
	}
	var kept State
	if o.planned { // it is decided as the first failure of a row of its own
		kept = *s
		s.restart()
		s.first = o.failedAt()
	} else if s.retries == 0 {
		s.row = o.failedAt().Sub(s.first)
	}
	var dictates time.Duration
	switch most := c.limitAfter(f.Err); {
	case cause != nil:
	case !o.allowed && withoutRetries(o.ctx):
		cause = ErrWithoutRetries
	case most >= 0 && int64(s.retries) >= most:
		cause = reached{limit: ErrLimit, n: most}
	default:
		if !simple {
			dictates = dictated(f.Err)
		}
		delay, cause = o.delay(f.Err, dictates)
		if cause == nil && c.budget != nil && !o.planned && !c.budget.take(o.failedAt()) {
			cause = ErrBudget
		}
	}
	if o.planned {
		if *s = kept; cause != nil {
			s.restart()
		}
	}
	if cause != nil {
		return 0, o.giveUp(cause)
	}
	if o.allowed = true; o.planned {
		if o.last = nil; c.logs {
			o.logRetry(&Event{Err: f.Err, Delay: delay, Lasted: f.Lasted}, dictates > 0)
		}
		return delay, nil
	}
	s.retries++
	if c.onRetry != nil || c.onOutage != nil || c.logs {
		o.retrying(f, delay, dictates > 0)
	}
	return delay, nil
}

// refuses reports whether If or BeforeFirstItem forbids a retry after f.
func (o *Operation) refuses(f *Outcome) bool {
	c := o.config
	return c.retryable != nil && !o.planned && !c.retryable(f.Err) || c.beforeFirstItem && f.Items > 0
}

// resets reports whether the attempt of f restarts the count.
func (c *config) resets(f *Outcome) bool {
	return c.resetAfterItems > 0 && f.Items >= c.resetAfterItems || c.resetAfter > 0 && f.Lasted >= c.resetAfter
}

// fired reports whether a signal has fired since the operation's last failure or, if a State was read from text, since
// Continue.
func (o *Operation) fired() bool {
	seen := o.state.fires
	o.state.fires = o.config.fires()
	return seen != 0 && seen != o.state.fires
}

// delay returns the wait before the next retry, or the reason why there is none. dictated is the delay that the failure
// dictates, 0 or less for none.
func (o *Operation) delay(failure error, dictated time.Duration) (delay time.Duration, cause error) {
	c, s := o.config, &o.state
	b := &c.curve
	if c.curves != nil {
		b = c.curveFor(failure)
	}
	n, u := s.retries+1, 0.0
	if b.random {
		u = c.draw(b, s)
	}
	if dictated > 0 {
		if c.maxRetryAfter >= 0 && dictated > c.maxRetryAfter {
			return 0, reached{ErrMaxRetryAfter, int64(c.maxRetryAfter), dictated}
		}
		room, cause := o.room(dictated)
		if cause != nil {
			return 0, cause
		}
		return b.Dictated(dictated, room, u), nil
	}
	if c.stopAt >= 0 {
		if next := b.Ceiling(n); next >= c.stopAt {
			return 0, reached{ErrStopAt, int64(c.stopAt), next}
		}
	}
	if b.waits {
		delay = b.After(n, s.previous, u)
	}
	if s.previous = delay; delay > 0 || c.within >= 0 {
		_, cause = o.room(delay)
	}
	return delay, cause
}

// room returns how much longer than d the wait may be. It is negative if there is no bound. It returns a reason if even
// d is too long.
func (o *Operation) room(d time.Duration) (time.Duration, error) {
	c := o.config
	room := time.Duration(-1)
	if c.within >= 0 {
		left := c.within - max(0, o.failedAt().Sub(o.state.rowBegan())) // a clock may go back
		if d > left {
			return 0, reached{limit: ErrWithin, n: int64(c.within)}
		}
		room = left - d
	}
	if deadline, ok := o.ctx.Deadline(); ok && d > 0 {
		// An attempt that starts at the deadline is cancelled, so it must start before.
		left := max(0, deadline.Sub(o.failedAt())) - 1
		if d > left {
			return 0, ErrDeadline
		}
		if room < 0 || left-d < room {
			room = left - d
		}
	}
	return room, nil
}

// giveUp returns the error that ends the operation, and calls the hooks.
func (o *Operation) giveUp(cause error) *Error {
	err := o.errorOf(cause, o.state.retries)
	c := o.config
	o.logged = 0
	c.log(o.ctx, slog.LevelError, "giving up", slog.Any("error", err))
	for _, hook := range c.onGiveUp {
		hook(o.ctx, err)
	}
	return err
}

// errorOf returns the error of an operation that ends here after the given number of retries in a row.
func (o *Operation) errorOf(cause error, retries int) *Error {
	s := &o.state
	err := &Error{Name: o.config.name, Cause: cause, Last: o.last, Attempts: s.attempts, Retries: retries}
	if s.hasFailed() {
		err.Elapsed = o.failedAt().Sub(s.first)
	}
	if s.retries > 0 {
		err.Down = o.failedAt().Sub(s.rowBegan())
	}
	return err
}
