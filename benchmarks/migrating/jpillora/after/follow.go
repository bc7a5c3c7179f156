package after

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// One policy for all loops.
var policy = retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second),
	retry.OnRetry(func(_ context.Context, e retry.Event) { slog.Warn("reconnecting", "delay", e.Delay, "err", e.Err) }))

func Follow(ctx context.Context, dial func(context.Context) (io.ReadCloser, error), serve func(io.Reader) error) error {
	for a, err := range policy.Attempts(ctx) {
		if err != nil {
			return err
		}
		conn, err := dial(ctx)
		if err != nil {
			a.Fail(err) // waits, then the next attempt
			continue
		}
		a.Reset()
		a.Fail(serve(conn)) // nil ends the loop
		conn.Close()
	}
	return nil
}
