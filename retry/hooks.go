package retry

import "time"

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
// failure after the operation began or an attempt of it last worked. A reset does not end it.
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
	// Attempts is the number of attempts, Retries that of those which followed a failure: not the first one, nor one
	// after a planned end.
	Attempts, Retries int
	// Elapsed is the time since the start.
	Elapsed time.Duration
}

// retrying calls the hooks for a retry.
func (o *Operation) retrying(f *Outcome, delay time.Duration, dictated bool) {
	c, s := o.config, &o.state
	e := Event{N: s.retries, Err: f.Err, Delay: delay, Elapsed: o.failedAt().Sub(s.since()), Lasted: f.Lasted}
	o.beginOutage(f.Err)
	if c.logs {
		o.logRetry(&e, dictated)
	}
	for _, hook := range c.onRetry {
		hook(o.ctx, e)
	}
}
