package adapters

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// logged returns p with hooks that log retries and the end. The attributes identify the operation.
func logged(p retry.Policy, log *slog.Logger, attributes ...any) retry.Policy {
	log = log.With(attributes...)
	return p.With(
		retry.OnRetry(func(_ context.Context, e retry.Event) {
			log.Warn("retrying", "n", e.N, "delay", e.Delay, "error", e.Err)
		}),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
			log.Error("gave up", "cause", e.Cause, "attempts", e.Attempts, "error", e.Last)
		}),
	)
}

func Example_slog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // the time would change the output
		}
		return a
	}}))
	policy := retry.New(backoff.Exponential(time.Millisecond, 2), retry.Limit(2))
	_ = retry.Run(context.Background(), logged(policy, log, "operation", "fetch"), func(context.Context) error {
		return errors.New("connection refused")
	})
	// Output:
	// level=WARN msg=retrying operation=fetch n=1 delay=1ms error="connection refused"
	// level=WARN msg=retrying operation=fetch n=2 delay=2ms error="connection refused"
	// level=ERROR msg="gave up" operation=fetch cause="limit of 2 retries" attempts=3 error="connection refused"
}
