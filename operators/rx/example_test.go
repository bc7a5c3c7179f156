package rx_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A source that resumes where it stopped: each attempt opens it again, under its own context.
func ExampleRetryWhen() {
	offset, retries := 0, 0
	read := func(ctx context.Context, next chan<- rxgo.Item) {
		for offset < 5 {
			offset++
			if !rxgo.Of(offset).SendContext(ctx, next) {
				return
			}
			if offset%2 == 0 {
				rxgo.Error(errors.New("connection reset")).SendContext(ctx, next)
				return
			}
		}
	}
	lines := rx.RetryWhen(func(ctx context.Context) rxgo.Observable {
		return rxgo.Create([]rxgo.Producer{read}, rxgo.WithContext(ctx))
	}, operators.ExpBackoff(jitter.None, time.Millisecond, 3, retry.OnRetry(func(context.Context, retry.Event) { retries++ })))

	for item := range lines.Observe() {
		if item.E != nil {
			fmt.Println("gave up:", item.E)
			break
		}
		fmt.Println("line", item.V)
	}
	fmt.Println(retries, "retries")
	// Output:
	// line 1
	// line 2
	// line 3
	// line 4
	// line 5
	// 2 retries
}

func ExampleWrap() {
	attempt := 0
	cold := rxgo.Defer([]rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
		if attempt++; attempt < 3 {
			next <- rxgo.Error(fmt.Errorf("attempt %d failed", attempt))
			return
		}
		next <- rxgo.Of("it works")
	}})

	values, err := rx.Wrap(cold).RetryWhen(operators.ExpBackoff(jitter.Default, time.Millisecond, 3)).ToSlice(0)
	fmt.Println(values, err)
	// Output: [it works] <nil>
}

// A hot observable would be empty when it is observed again, which looks like success. So Wrap returns an error for it.
func ExampleObservable_RetryWhen() {
	hot := rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
		next <- rxgo.Of(1)
		next <- rxgo.Error(errors.New("connection reset"))
	}})

	for item := range rx.Wrap(hot).RetryWhen(retry.New(backoff.Constant(time.Millisecond))).Observe() {
		if item.E != nil {
			fmt.Println("not restartable:", errors.Is(item.E, stream.ErrNotRestartable))
			break
		}
		fmt.Println(item.V)
	}
	// Output:
	// 1
	// not restartable: true
}

func ExampleToStream() {
	numbers := rx.ToStream[int](func(ctx context.Context) rxgo.Observable {
		return rxgo.Just(1, 2, "three")(rxgo.WithContext(ctx))
	})
	values, err := numbers.Collect(context.Background())
	fmt.Println(values, err)
	// Output: [1 2] rx: ToStream: item 3 is string, want int
}

func ExampleFromStream() {
	squares := rx.FromStream(operators.Map(stream.Range(1, 4), func(n int) int { return n * n }))
	even := squares.Filter(func(v any) bool { return v.(int)%2 == 0 })
	for item := range even.Observe() {
		fmt.Println(item.V)
	}
	// Output:
	// 4
	// 16
}
