package after

import (
	"context"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var policy = retry.New(
	backoff.Constant(time.Second), // or any other curve, with a jitter
	retry.Limit(5),
	retry.ResetAfterItems(1))

// Feed returns the lines of read in upper case, and reads again after a failure.
func Feed(ctx context.Context, read func(ctx context.Context, line func(string) bool) error) ([]string, error) {
	source := stream.Stream[string](read) // line reports whether more is wanted
	return operators.Map(source.RetryWhen(policy), strings.ToUpper).Collect(ctx)
}
