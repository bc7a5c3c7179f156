package retry

import (
	"context"
	"log/slog"
	"time"
)

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

func (o *Operation) logPlanned(f *Outcome, delay time.Duration, dictated bool) {
	o.config.log(o.ctx, slog.LevelDebug, "going on after a planned end", slog.Duration("delay", delay), slog.Bool("dictated", dictated),
		slog.Duration("lasted", f.Lasted), slog.Any("error", f.Err))
}

func (o *Operation) logRetry(e *Event, dictated bool) {
	text, level := "retrying after a failure", slog.LevelDebug
	attrs := []slog.Attr{slog.Int("retry", e.N), slog.Duration("delay", e.Delay), slog.Bool("dictated", dictated),
		slog.Duration("lasted", e.Lasted), slog.Any("error", e.Err)}
	down := o.failedAt().Sub(o.state.down())
	switch passed := marks(down); {
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
