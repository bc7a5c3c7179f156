package retry

import (
	"context"
	"log/slog"
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

func (c *config) logRetry(ctx context.Context, e *Event, dictated, begins bool) {
	attrs := []slog.Attr{slog.Int("retry", e.N), slog.Duration("delay", e.Delay), slog.Bool("dictated", dictated),
		slog.Duration("lasted", e.Lasted), slog.Any("error", e.Err)}
	level := slog.LevelDebug
	if begins {
		level, attrs = slog.LevelWarn, append(attrs, slog.String("policy", Policy{c}.String()))
	}
	c.log(ctx, level, "retrying after a failure", attrs...)
}
