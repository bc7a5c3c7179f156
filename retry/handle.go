package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Handle makes p a stream.RetryHandler: src.RetryWhen(p) runs src again as p decides. Each subscription has its own
// State. Handle waits on the subscriber's goroutine and starts none. The returned stream answers each failure with its
// number. If there is no further attempt, it fails with the error that Do would return, an *Error or the failure
// itself.
//
//	failures  -1--2-----3---
//	answers   --1---2-------#
func (p Policy) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	if failures == nil {
		panicf("Policy.Handle", "failures is nil")
	}
	return func(ctx context.Context, yield func(stream.Failure) bool) error {
		subscription, hooks := attempt.Subscribed(ctx)
		var (
			c        = p.settings()
			op       operation
			timed    = c.timed && c.clock != nil
			answered bool
			at       time.Time // of the answer
			end      error
		)
		op.begin(hooks, c)
		err := failures(ctx, func(f stream.Failure) bool {
			if timed && answered {
				f.Lasted = op.since(at)
			}
			c.refund(f.Items)
			op.question.Failure = f
			end = op.failed(ctx, f.Items > 0)
			if subscription != nil {
				subscription.Announced = end == nil
			}
			if end != nil {
				if op.cancelled { // RetryWhen adds the failure
					end = ending.ContextError(ctx)
				}
				return false
			}
			answered, at = true, op.now()
			return yield(stream.Failure{N: f.N})
		})
		if end != nil {
			return end
		}
		return err
	}
}
