package after

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

var ErrNotFound = errors.New("not found")

// One policy for all calls, on any number of goroutines.
var policy = retry.New(
	backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Deviation(0.5)),
	retry.Limit(5), // retries: one less than tries
	retry.Within(time.Minute),
	retry.If(func(err error) bool { return !errors.Is(err, ErrNotFound) }),
	retry.OnRetry(func(_ context.Context, e retry.Event) {
		slog.Warn("retrying", "delay", e.Delay, "err", e.Err)
	}))

func Fetch(ctx context.Context, get func(context.Context) (string, error)) (string, error) {
	return retry.Do(ctx, policy, get)
}
