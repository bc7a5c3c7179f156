package before

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/avast/retry-go/v5"
)

var ErrNotFound = errors.New("not found")

func Fetch(ctx context.Context, get func(context.Context) (string, error)) (string, error) {
	return retry.NewWithData[string](
		retry.Context(ctx), // an option of the Retrier, so each call makes its own
		retry.Attempts(6),
		retry.Delay(100*time.Millisecond),
		retry.MaxDelay(30*time.Second), // every wait at the cap is exactly this long
		retry.RetryIf(func(err error) bool { return !errors.Is(err, ErrNotFound) }),
		retry.OnRetry(func(n uint, err error) {
			slog.Warn("retrying", "n", n+1, "err", err)
		}),
	).Do(func() (string, error) { return get(ctx) })
}
