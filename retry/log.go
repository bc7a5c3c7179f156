package retry

import (
	"context"
	"log/slog"
	"time"
)

// Log logs outages (see Recovery) to logger: WARN for the first retry of an outage, DEBUG for each further retry, INFO
// when it works again, ERROR when the policy gives up. If logger is nil, it is slog.Default() at the time of each line,
// so a policy in a package variable uses what main has set. Each line has the policy's name (Name); a retry's line also
// the delay and whether the failure dictated it, and the first one of an outage the policy's text.
//
// An error that is returned unchanged and an end by the context are not logged, except by an INFO that ends an outage
// for which there was a WARN. operators.MapRetry logs everything at DEBUG, because it has many items (Quiet).
func Log(logger *slog.Logger) Option {
	return func(c *config) { c.logger, c.logs = logger, true }
}

func (c *config) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
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

func (c *config) logRetry(ctx context.Context, e *Event, dictated, begins bool) {
	attrs := []slog.Attr{slog.Int("retry", e.N), slog.Duration("delay", e.Delay), slog.Bool("dictated", dictated),
		slog.Duration("lasted", e.Lasted), slog.Any("error", e.Err)}
	if !begins {
		c.log(ctx, slog.LevelDebug, "retrying after a failure", attrs...)
		return
	}
	c.log(ctx, slog.LevelWarn, "retrying after a failure", append(attrs, slog.String("policy", Policy{c}.String()))...)
}

func (c *config) logGiveUp(ctx context.Context, err *Error) {
	if c.logs {
		c.log(ctx, slog.LevelError, "giving up", slog.Any("error", err))
	}
}

// logEnded logs the end of an outage without a recovery, if the policy did not give up.
func (c *config) logEnded(ctx context.Context, attempts int, err error) {
	if c.logs {
		c.log(ctx, slog.LevelInfo, "retries ended", slog.Int("attempts", attempts), slog.Any("error", err))
	}
}

func (c *config) logRecovered(ctx context.Context, r *Recovery) {
	if c.logs {
		c.log(ctx, slog.LevelInfo, "recovered", slog.Int("retries", r.Retries), slog.Duration("down", r.Down.Round(time.Microsecond)),
			slog.Any("last", r.Last))
	}
}
