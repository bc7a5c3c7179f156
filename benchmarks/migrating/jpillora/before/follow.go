package before

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/jpillora/backoff"
)

func Follow(ctx context.Context, dial func(context.Context) (io.ReadCloser, error), serve func(io.Reader) error) error {
	b := &backoff.Backoff{Min: 100 * time.Millisecond, Max: 10 * time.Second, Factor: 2} // each loop needs its own
	for {
		conn, err := dial(ctx)
		if err == nil {
			b.Reset()
			err = serve(conn)
			conn.Close()
			if err == nil {
				return nil
			}
		}
		d := b.Duration()
		slog.Warn("reconnecting", "delay", d, "err", err)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
