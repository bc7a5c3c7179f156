package retry

import (
	"context"
	"log/slog"
	"time"
)

// Log logs outages (see Recovery) to logger: WARN for the first retry of an outage, DEBUG for each further retry, INFO
// when it works again, ERROR when the policy gives up. An error that is returned unchanged and an end by the context
// are not logged, except by an INFO that ends an outage for which there was a WARN. operators.MapRetry logs everything
// at DEBUG, because it has many items (Quiet).
func Log(logger *slog.Logger) Option {
	if logger == nil {
		panicf("Log", "logger is nil")
	}
	return func(c *config) { c.logger = logger }
}

// Quiet makes Log log everything at DEBUG, for code that has many operations at once.
func Quiet() Option { return func(c *config) { c.quiet = true } }

func (c *config) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	if c.quiet {
		level = slog.LevelDebug
	}
	c.logger.LogAttrs(ctx, level, text, attrs...)
}

func (c *config) logRetry(ctx context.Context, e *Event, begins bool) {
	if c.logger == nil {
		return
	}
	level := slog.LevelDebug
	if begins {
		level = slog.LevelWarn
	}
	c.log(ctx, level, "retrying after a failure", slog.Int("retry", e.N), slog.Duration("delay", e.Delay),
		slog.Duration("lasted", e.Lasted), slog.Any("error", e.Err))
}

func (c *config) logGiveUp(ctx context.Context, err *Error) {
	if c.logger != nil {
		c.log(ctx, slog.LevelError, "giving up", slog.Any("error", err))
	}
}

// logEnded logs the end of an outage without a recovery, if the policy did not give up.
func (c *config) logEnded(ctx context.Context, attempts int, err error) {
	if c.logger != nil {
		c.log(ctx, slog.LevelInfo, "retries ended", slog.Int("attempts", attempts), slog.Any("error", err))
	}
}

func (c *config) logRecovered(ctx context.Context, r *Recovery) {
	if c.logger != nil {
		c.log(ctx, slog.LevelInfo, "recovered", slog.Int("retries", r.Retries), slog.Duration("down", r.Down.Round(time.Microsecond)),
			slog.Any("last", r.Last))
	}
}
