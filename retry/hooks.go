package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/stream"
)

// Event is a retry that has been scheduled.
type Event struct {
	// N counts the retries in a row, this one included.
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

// Recovery is the end of an outage: what had failed works again. An outage begins with the first failure since
// something last worked, a stream's value or an operation's start; a reset does not end it.
type Recovery struct {
	// Retries counts the retries in the outage, the one that worked included.
	Retries int
	// Down is the time since the first failure of the outage.
	Down time.Duration
	// Last is the last failure.
	Last error
}

// Result is what an operation, or a subscription to a retried stream, has come to.
type Result struct {
	// Err is the error that was returned; nil for success, and for a stream whose consumer stopped.
	Err error
	// Attempts counts all attempts, Retries all but the first.
	Attempts, Retries int
	// Elapsed is the time since the start.
	Elapsed time.Duration
}

// A Policy wants to know how attempts go. A handler that wraps a Policy should embed it: RetryWhen finds these methods
// in the handler itself, so with p.Handle as a function there are no refunds, and no OnRecovered, OnDone and Log.
var _ stream.RetryObserver = Policy{}

// Recovered calls the OnRecovered hooks. Do, Run, Attempts and stream.RetryWhen call it; it is for those who drive a
// policy by Decide.
func (p Policy) Recovered(ctx context.Context, last stream.Failure, retries int, down time.Duration) {
	s, ctx := attempt.Subscribed(ctx)
	if s != nil {
		s.Announced = false
	}
	p.settings().Recovered(ctx, last.Err, retries, down)
}

// Succeeded gives the budget its refund for an attempt that ended well. Do, Run, Attempts and stream.RetryWhen call it;
// it is for those who drive a policy by Decide.
func (p Policy) Succeeded(items int64) { p.settings().Succeeded(items) }

// Ended calls the OnDone hooks. Do, Run, Attempts and stream.RetryWhen call it; it is for those who drive a policy by
// Decide, but only RetryWhen knows when the operation began: from others the Result has no Elapsed.
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
