package after

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

var errNotReady = errors.New("not ready")

var policy = retry.New(backoff.Exponential(100*time.Millisecond, 2),
	retry.Limit(5), // retries: one less than steps
	retry.If(func(err error) bool { return err == errNotReady }))

func Ready(ctx context.Context, check func(context.Context) (done bool, err error)) error {
	return retry.Run(ctx, policy, func(ctx context.Context) error {
		done, err := check(ctx)
		if err == nil && !done {
			return errNotReady
		}
		return err
	})
}
