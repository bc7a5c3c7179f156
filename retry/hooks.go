package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/stream"
)

// Event describes a scheduled retry.
type Event struct {
	// N is the number of retries in a row, including this one.
	N int
	// Err is the failure that is retried.
	Err error
	// Delay is the wait before the retry.
	Delay time.Duration
	// Elapsed is the time since the first failure in a row.
	Elapsed time.Duration
	// Lasted is how long the failed attempt ran.
	Lasted time.Duration
}

// Recovery describes the end of an outage: something that had failed works again. An outage begins with the first
// failure after the operation began or its stream last delivered a value. A reset does not end it.
type Recovery struct {
	// Retries is the number of retries in the outage, including the one that worked.
	Retries int
	// Down is the time since the first failure of the outage.
	Down time.Duration
	// Last is the last failure.
	Last error
}

// Result describes the end of an operation, or of a subscription to a retried stream.
type Result struct {
	// Err is the returned error; nil for success, and for a stream whose consumer stopped.
	Err error
	// Attempts is the number of attempts, Retries that number without the first.
	Attempts, Retries int
	// Elapsed is the time since the start.
	Elapsed time.Duration
}

// A Policy observes the attempts. A handler that wraps a Policy should embed it, because RetryWhen looks for these
// methods in the handler itself. If p.Handle is passed as a function, there are no refunds, and no OnRecovered, OnDone
// and Log.
var _ stream.RetryObserver = Policy{}

// Recovered calls the OnRecovered hooks. Do, Run, Attempts and stream.RetryWhen call it; code that uses Decide must
// call it.
func (p Policy) Recovered(ctx context.Context, last stream.Failure, retries int, down time.Duration) {
	s, ctx := attempt.Subscribed(ctx)
	if s != nil {
		s.Announced = false
	}
	p.settings().Recovered(ctx, last.Err, retries, down)
}

// Succeeded refunds the budget after an attempt that ended without an error, or that Handle does not receive: once for
// each value that it delivered, or once if it delivered none. Do, Run, Attempts and stream.RetryWhen call it; code that
// uses Decide must call it.
func (p Policy) Succeeded(items int64) { p.settings().Succeeded(items) }

// Ended calls the OnDone hooks. Do, Run, Attempts and stream.RetryWhen call it; code that uses Decide must call it.
// Only RetryWhen knows when the operation began: with other callers, Result.Elapsed is 0.
func (p Policy) Ended(ctx context.Context, attempts int, err error) {
	c := p.settings()
	s, ctx := attempt.Subscribed(ctx)
	var elapsed time.Duration
	if s != nil {
		elapsed = s.Elapsed
		if s.Announced {
			s.Announced = false
			c.logEnded(ctx, attempts, err)
		}
	}
	c.Done(ctx, attempts, elapsed, err)
}

// retrying calls the hooks for a retry.
func (c *config) retrying(s *State, q *question, delay time.Duration) {
	e := Event{N: s.Retries, Err: q.Err, Delay: delay, Elapsed: q.time().Sub(s.Since), Lasted: q.Lasted}
	c.logRetry(q.ctx, &e, s.Attempts == 1 || q.worked)
	for _, hook := range c.onRetry {
		hook(q.ctx, e)
	}
}
