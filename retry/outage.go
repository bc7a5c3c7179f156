package retry

import (
	"context"
	"slices"
	"time"
)

// Name names what is retried, such as "prices": in the text of the Error with which the policy gives up, in the lines
// of Log, and in the errors of a Stream's Timeout under the policy. It has no text form: a policy that is read from a
// configuration gets its name from the code.
func Name(name string) Option {
	if name == "" {
		panicf("Name", "name is empty")
	}
	return func(c *config) { c.name = name }
}

// AttemptEnd describes an attempt that has ended.
type AttemptEnd struct {
	// N is the number of the attempt in its operation, from 1.
	N int
	// Err is the attempt's own error, nil for a success and for a stream whose consumer stopped.
	Err error
	// Lasted is how long the attempt ran, for a stream with the time of its consumer.
	Lasted time.Duration
	// Planned says that the attempt has worked and Err is marked by Planned: the end was no failure.
	Planned bool
}

// OnAttempt calls f once for each attempt when it has ended, also for the first one and for one that is not retried,
// before the policy decides about a failure. So a subscription that lives for long reports its attempts while it goes
// on. f is called on the operation's goroutine. It is not called if a panic ends the attempt.
func OnAttempt(f func(context.Context, AttemptEnd)) Option {
	notNil("OnAttempt", "f", f == nil)
	return func(c *config) { c.onAttempt = append(slices.Clip(c.onAttempt), f) }
}

// OnOutage calls begin once for each outage (see Recovery), at the first failure of it that the policy retries, before
// the OnRetry hooks. begin may return nil. A function that it returns is called once, when the outage is over for the
// operation: when it works again, when it ends, or when it is stored to be continued later (Operation.State). After a
// continuation the next retry calls begin again. If a call or a turn panics, over is not called. Both run on the
// operation's goroutine, except that over may run on the goroutine that calls stream.Works. operators.MapRetry does not
// call begin.
func OnOutage(begin func(ctx context.Context, failure error) (over func())) Option {
	notNil("OnOutage", "begin", begin == nil)
	return func(c *config) { c.onOutage = append(slices.Clip(c.onOutage), begin) }
}

// reportAttempt calls the hooks for the end of the n-th attempt.
func (o *Operation) reportAttempt(n int, end *Outcome) {
	for _, hook := range o.config.onAttempt {
		hook(o.ctx, AttemptEnd{N: n, Err: end.Err, Lasted: end.Lasted, Planned: o.planned})
	}
}

// beginOutage calls the hooks for the beginning of an outage, unless it has begun.
func (o *Operation) beginOutage(failure error) {
	if o.outageEnds != nil {
		return
	}
	for _, hook := range o.config.onOutage {
		o.outageEnds = append(o.outageEnds, hook(o.ctx, failure))
	}
}

// endOutage calls what the hooks for the beginning of the outage have returned.
func (o *Operation) endOutage() {
	all := o.outageEnds
	o.outageEnds = nil
	for _, over := range all {
		if over != nil {
			over()
		}
	}
}
