package items

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

var policy stream.RetryHandler = operators.ExpBackoff(jitter.Default, time.Second, 3)

// ours is this library. If there is a handler, each item passes through RetryWhen before Reduce.
func ours(h stream.RetryHandler) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		s := operators.Map(stream.Range(0, n), triple).Filter(even)
		if h != nil {
			s = s.RetryWhen(h)
		}
		result := 0
		err := operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
		return result, err
	}
}

// background runs under a context that never ends, so the source does not check it.
func background(run func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) { return run(context.Background(), n) }
}
