package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/internal/permanent"
	"github.com/retrywhen/retrywhen/stream"
)

// Decide is the policy without its waits. It takes a failure of one operation that happened at the given time. It
// returns the delay before the next attempt, or the error with which the operation ends. It updates s, takes from the
// budget, and calls OnRetry, OnGiveUp and the logging of Log with context.Background(). deadline is that of the
// operation, zero for none. The caller must check for cancellation. Decide uses only Err, Items and Lasted of f.
//
// The caller calls Recovered for OnRecovered, and Ended for OnDone.
func (p Policy) Decide(s *State, f stream.Failure, at, deadline time.Time) (time.Duration, error) {
	return p.settings().Decide(context.Background(), s, f, at, deadline)
}

// question is the input of a decision. The first group of fields describes the operation, the second its failure.
type question struct {
	ctx      context.Context // for hooks
	deadline time.Time
	clock    stream.Clock
	single   bool // no retries are allowed: WithoutRetries

	stream.Failure
	worked bool // the failed attempt worked before it failed: an outage begins
	timed  bool // at is set: without waits the time is rarely needed
	at     time.Time
}

// time returns when the attempt failed.
func (q *question) time() time.Time {
	if !q.timed {
		q.at, q.timed = q.clock.Now(), true
	}
	return q.at
}

func (c *config) decide(s *State, q *question) (time.Duration, error) {
	c.count(s, q)
	simple := isSimple(q.Err)
	switch {
	case !simple && permanent.Is(q.Err),
		c.retryable != nil && !c.retryable(q.Err),
		c.beforeFirstItem && q.Items > 0:
		c.logEnd(s, q, q.Err)
		return 0, q.Err
	}
	if c.resets(s, q) {
		s.restart()
	}
	if s.Retries == 0 { // not Since.IsZero(): a clock may begin at the zero time
		s.Since = q.time()
	}
	if _, ok := q.Err.(engine.Refused); ok {
		return 0, c.giveUp(s, q, ErrRefused)
	}
	if q.single {
		return 0, c.giveUp(s, q, reached{limitSentinel, 0})
	}
	if c.limit >= 0 && s.Retries >= c.limit {
		return 0, c.giveUp(s, q, reached{limitSentinel, int64(c.limit)})
	}
	var asked time.Duration
	if !simple {
		asked = dictated(q.Err)
	}
	delay, cause := c.delay(s, q, asked)
	if cause == nil && c.budget != nil && !c.budget.take(q.time()) {
		cause = ErrBudget
	}
	if cause != nil {
		return 0, c.giveUp(s, q, cause)
	}
	s.Retries++
	if c.onRetry != nil || c.logger != nil {
		c.retrying(s, q, delay)
	}
	return delay, nil
}

// count counts the failed attempt.
func (c *config) count(s *State, q *question) {
	if s.Attempts == 0 {
		s.First, s.Fires = q.time(), c.Fires()
	}
	s.Attempts++
}

// resets reports whether the failed attempt, or a signal since then, restarts the count.
func (c *config) resets(s *State, q *question) bool {
	if c.signals != nil {
		if seen, fires := s.Fires, c.Fires(); seen != fires {
			s.Fires = fires
			if seen != 0 {
				return true
			}
		}
	}
	return c.resetAfterItems > 0 && q.Items >= c.resetAfterItems ||
		c.resetAfter > 0 && q.Lasted >= c.resetAfter
}

// delay returns the wait before the next retry, or the reason why there is none. dictated is the delay that the failure
// dictates, 0 for none.
func (c *config) delay(s *State, q *question, dictated time.Duration) (time.Duration, error) {
	n, u := s.Retries+1, c.draw(s)
	if dictated > 0 {
		if c.maxRetryAfter >= 0 && dictated > c.maxRetryAfter {
			return 0, reached{retryAfterSentinel, int64(c.maxRetryAfter)}
		}
		room, cause := c.room(s, q, dictated)
		if cause != nil {
			return 0, cause
		}
		return c.backoff.Dictated(dictated, room, u), nil
	}
	if c.stopAt >= 0 && c.backoff.Ceiling(n) >= c.stopAt {
		return 0, reached{stopAtSentinel, int64(c.stopAt)}
	}
	var delay time.Duration
	if c.draws != nothing {
		delay = c.backoff.After(n, s.Previous, u)
	}
	s.Previous = delay
	if c.within < 0 && (delay == 0 || q.deadline.IsZero()) {
		return delay, nil
	}
	_, cause := c.room(s, q, delay)
	return delay, cause
}

// room returns how much longer than d the wait may be. It is negative if there is no bound. It returns a reason if even
// d is too long.
func (c *config) room(s *State, q *question, d time.Duration) (time.Duration, error) {
	room := time.Duration(-1)
	if c.within >= 0 {
		left := c.within - max(0, q.time().Sub(s.Since)) // a clock may go back
		if d > left {
			return 0, reached{withinSentinel, int64(c.within)}
		}
		room = left - d
	}
	if d > 0 && !q.deadline.IsZero() {
		// An attempt that starts at the deadline is cancelled, so it must start before.
		left := max(0, q.deadline.Sub(q.time())) - 1
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
func (c *config) giveUp(s *State, q *question, cause error) *Error {
	err := s.failure(q, cause, s.Retries)
	c.logGiveUp(q.ctx, err)
	for _, hook := range c.onGiveUp {
		hook(q.ctx, err)
	}
	return err
}

// failure returns the error of an operation that ends here after the given number of retries in a row.
func (s *State) failure(q *question, cause error, retries int) *Error {
	err := &Error{Cause: cause, Last: q.Err, Attempts: s.Attempts, Retries: retries}
	if s.Attempts > 0 {
		err.Elapsed = q.time().Sub(s.First)
	}
	if s.Retries > 0 {
		err.Down = q.time().Sub(s.Since)
	}
	return err
}
