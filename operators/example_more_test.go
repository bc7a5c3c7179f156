package operators_test

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// The classic form of ReactiveX: zip the failures with a range, and map each to a timer.
func ExampleRetryWhen() {
	attempt := 0
	source := stream.Defer(func(context.Context) stream.Stream[int] {
		attempt++
		return stream.Of(attempt).Concat(stream.Fail[int](fmt.Errorf("attempt %d: connection reset", attempt)))
	})
	handler := func(failures stream.Stream[stream.Failure]) stream.Stream[time.Time] {
		attempts := operators.ZipWith(failures, stream.Range(1, 3), func(_ stream.Failure, n int) int { return n })
		return operators.ConcatMap(attempts, func(n int) stream.Stream[time.Time] {
			return stream.Timer(time.Duration(n*n) * time.Millisecond)
		})
	}
	fmt.Println(operators.RetryWhen(source, handler).Collect(context.Background()))
	// Output: [1 2 3 4] attempt 4: connection reset
}

func ExampleRetryChans() {
	attempt := 0
	// A pipeline of plain channels, which fails in its first run.
	open := func(ctx context.Context) (<-chan string, <-chan error) {
		attempt++
		values, errs := make(chan string), make(chan error, 1)
		go func() {
			defer close(values)
			for _, v := range []string{"a", "b", "c"} {
				select {
				case values <- fmt.Sprint(attempt, v):
				case <-ctx.Done():
					return
				}
				if attempt == 1 {
					errs <- fmt.Errorf("connection reset")
					return
				}
			}
		}()
		return values, errs
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	values, errs := operators.RetryChans(ctx, open, policy)
	for v := range values {
		fmt.Println(v)
	}
	fmt.Println(<-errs)
	// Output:
	// 1a
	// 2a
	// 2b
	// 2c
	// <nil>
}
