package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Handle makes p a stream.RetryHandler: src.RetryWhen(p) starts src again as p says. Each subscription has a row of its
// own. It waits on the subscriber's goroutine and starts none. The stream that it returns answers each failure with
// its number; when there is no further attempt it fails with what Do would return, an *Error or the failure itself.
//
//	failures  -1--2-----3---
//	answers   --1---2-------#
func (p Policy) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	if failures == nil {
		panicf("Policy.Handle", "failures is nil")
	}
	return func(ctx context.Context, yield func(stream.Failure) bool) error {
		var (
			op       = newOperation(ctx, p)
			timed    = op.config.resetAfter > 0 && op.config.clock != nil
			answered bool
			at       time.Time // of the answer
			end      error
		)
		err := failures(ctx, func(f stream.Failure) bool {
			if timed && answered {
				f.Lasted = op.clock.Now().Sub(at)
			}
			if end = op.failed(ctx, f); end != nil {
				return false
			}
			if timed {
				answered, at = true, op.clock.Now()
			}
			return yield(stream.Failure{Err: f.Err, N: f.N})
		})
		if end != nil {
			return end
		}
		return err
	}
}
