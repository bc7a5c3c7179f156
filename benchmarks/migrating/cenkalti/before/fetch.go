package before

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v7"
)

var ErrNotFound = errors.New("not found")

func Fetch(ctx context.Context, get func(context.Context) (string, error)) (string, error) {
	b := backoff.NewExponentialBackOff() // it has state, so each call makes its own
	b.InitialInterval = 100 * time.Millisecond
	b.Multiplier = 2
	b.MaxInterval = 30 * time.Second // jitter exceeds it, up to 45 s
	return backoff.Retry(ctx, func() (string, error) {
		page, err := get(ctx)
		if errors.Is(err, ErrNotFound) {
			return page, backoff.Permanent(err)
		}
		return page, err
	},
		backoff.WithBackOff(b),
		backoff.WithMaxTries(6),
		backoff.WithMaxElapsedTime(time.Minute),
		backoff.WithNotify(func(err error, delay time.Duration) {
			slog.Warn("retrying", "delay", delay, "err", err)
		}))
}
