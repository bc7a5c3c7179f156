package before

import (
	"context"
	"strings"
	"time"

	"github.com/samber/ro"
)

// Feed returns the lines of read in upper case, and reads again after a failure.
func Feed(ctx context.Context, read func(ctx context.Context, line func(string)) error) ([]string, error) {
	source := ro.NewObservableWithContext(func(ctx context.Context, destination ro.Observer[string]) ro.Teardown {
		if err := read(ctx, func(s string) { destination.NextWithContext(ctx, s) }); err != nil {
			destination.ErrorWithContext(ctx, err)
		} else {
			destination.CompleteWithContext(ctx)
		}
		return nil
	})
	lines, _, err := ro.CollectWithContext(ctx, ro.Pipe2(source,
		ro.RetryWithConfig[string](ro.RetryConfig{
			MaxRetries:     5,
			Delay:          time.Second, // the same for every retry
			ResetOnSuccess: true,
		}),
		ro.Map(strings.ToUpper),
	))
	return lines, err
}
