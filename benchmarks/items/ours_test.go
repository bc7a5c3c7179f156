package items

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

var policy stream.RetryHandler = operators.ExpBackoff(jitter.Default, time.Second, 3)

// ours is this library.
func ours(ctx context.Context, n int) (result int, err error) {
	s := operators.Map(stream.Range(0, n), triple).Filter(even)
	err = operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
	return result, err
}

// oursRetried is ours, and each item passes through RetryWhen before Reduce.
func oursRetried(ctx context.Context, n int) (result int, err error) {
	s := operators.Map(stream.Range(0, n), triple).Filter(even).RetryWhen(policy)
	err = operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
	return result, err
}

// oursInlined lets the compiler inline the functions, as inlined does.
func oursInlined(ctx context.Context, n int) (result int, err error) {
	s := operators.Map(stream.Range(0, n), func(v int) int { return 3 * v }).Filter(func(v int) bool { return v%2 == 0 })
	err = operators.Reduce(s, 0, func(sum, v int) int { return sum + v }).ForEach(ctx, func(sum int) { result = sum })
	return result, err
}

// background runs under a context that never ends, so the source does not check it.
func background(run func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) { return run(context.Background(), n) }
}
