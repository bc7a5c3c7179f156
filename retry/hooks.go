package retry

import (
	"context"
	"log/slog"
	"slices"
	"time"
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
	e := Event{N: s.retries, Err: f.Err, Delay: delay, Elapsed: o.failedAt().Sub(s.rowBegan()), Lasted: f.Lasted}
	o.beginOutage(f.Err)
	if c.logs {
		o.logRetry(&e, dictated)
	}
	for _, hook := range c.onRetry {
		hook(o.ctx, e)
	}
}

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

// Log logs outages (see Recovery) to logger:
//
//	WARN   "retrying after a failure"      for the first retry of an outage
//	WARN   "still down"                    for the first retry after 1, 5 and 30 minutes of it, and after each full hour
//	DEBUG  "retrying after a failure"      for each other retry
//	DEBUG  "going on after a planned end"  see Planned
//	INFO   "recovered"                     when it works again
//	INFO   "retries ended"                 when an outage ends with ctx, or with an error returned unchanged
//	ERROR  "giving up"                     when the policy gives up
//
// If logger is nil, it is slog.Default() at the time of each line, so a policy in a package variable uses what main has
// set. The attributes of a retry are name (the policy's, if it has one), retry (the number in a row), delay, dictated
// (whether the failure dictates the delay, see RetryAfter), lasted (how long the failed attempt ran) and error; of
// "still down" also down (the time since the outage's first failure) and failures. A reset does not begin the outage
// anew. An operation that is continued from a stored State logs only what happens from then on: of a durable job's
// outage there is one WARN.
//
// Log says nothing about an operation that ends without a retry, except when the policy gives up. operators.MapRetry
// logs everything at DEBUG, because it has many items (Quiet).
func Log(logger *slog.Logger) Option {
	return func(c *config) { c.logger, c.logs = logger, true }
}

// Quiet is for code that has many operations at once: Log logs everything at DEBUG, and OnOutage is not called.
func Quiet() Option { return func(c *config) { c.quiet = true } }

func (c *config) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	if !c.logs {
		return
	}
	if c.quiet {
		level = slog.LevelDebug
	}
	logger := c.logger
	if logger == nil {
		logger = slog.Default()
	}
	if c.name != "" {
		attrs = append([]slog.Attr{slog.String("name", c.name)}, attrs...)
	}
	logger.LogAttrs(ctx, level, text, attrs...)
}

// logRetry logs a retry, or that the operation goes on after a planned end.
func (o *Operation) logRetry(e *Event, dictated bool) {
	text, level := "retrying after a failure", slog.LevelDebug
	attrs := []slog.Attr{slog.Int("retry", e.N), slog.Duration("delay", e.Delay), slog.Bool("dictated", dictated),
		slog.Duration("lasted", e.Lasted), slog.Any("error", e.Err)}
	down := o.failedAt().Sub(o.state.outageBegan())
	switch passed := marks(down); {
	case o.planned:
		text, attrs = "going on after a planned end", attrs[1:]
	case o.logged == 0:
		level, o.logged = slog.LevelWarn, 1+passed
	case o.logged <= passed:
		text, level, o.logged = "still down", slog.LevelWarn, 1+passed
		attrs = append(attrs, slog.Duration("down", down.Round(time.Microsecond)), slog.Int("failures", o.state.failures))
	}
	o.config.log(o.ctx, level, text, attrs...)
}

// marks returns how many of the times after which an outage is still down have passed.
func marks(down time.Duration) (n int) {
	for _, mark := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute} {
		if down >= mark {
			n++
		}
	}
	return n + max(0, int(down/time.Hour))
}
