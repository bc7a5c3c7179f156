package items

import (
	"context"
	"errors"
	"runtime"
	"time"

	backoff4 "github.com/cenkalti/backoff/v4"
	ciliumstream "github.com/cilium/stream"
	"github.com/destel/rill"
	"github.com/reactivex/rxgo/v2"
	"github.com/samber/ro"
	concstream "github.com/sourcegraph/conc/stream"
)

var errNothing = errors.New("no result came out")

// samber is github.com/samber/ro.
func samber(retry func(ro.Observable[int]) ro.Observable[int]) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		s := ro.Pipe2(ro.Range(0, int64(n)),
			ro.Map(func(v int64) int { return triple(int(v)) }),
			ro.Filter(even))
		if retry != nil {
			s = retry(s)
		}
		got, _, err := ro.CollectWithContext(ctx, ro.Reduce(plus, 0)(s))
		return only(got, err)
	}
}

var samberRetry = ro.RetryWithConfig[int](ro.RetryConfig{MaxRetries: 3, Delay: time.Second})

// cilium is github.com/cilium/stream. Its Reduce keeps its sum from one observation to the next, so each run builds a
// new pipeline. All other libraries here do so too.
func cilium(retry func(ciliumstream.Observable[int]) ciliumstream.Observable[int]) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		s := ciliumstream.Filter(ciliumstream.Map(ciliumstream.Range(0, n), triple), even)
		if retry != nil {
			s = retry(s)
		}
		return ciliumstream.Last(ctx, ciliumstream.Reduce(s, 0, plus))
	}
}

func ciliumRetry(s ciliumstream.Observable[int]) ciliumstream.Observable[int] {
	return ciliumstream.Retry(s, ciliumstream.LimitRetries(ciliumstream.BackoffRetry(ciliumstream.AlwaysRetry, time.Second, time.Minute), 3))
}

// rx is github.com/reactivex/rxgo/v2.
func rx(retry func(rxgo.Observable) rxgo.Observable) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		if n == 0 {
			return 0, nil // Range refuses 0, and Reduce without items yields nothing
		}
		s := rxgo.Range(0, n, rxgo.WithContext(ctx)).
			Map(func(_ context.Context, v any) (any, error) { return triple(v.(int)), nil }).
			Filter(func(v any) bool { return even(v.(int)) })
		if retry != nil {
			s = retry(s)
		}
		got, err := s.Reduce(func(_ context.Context, sum, v any) (any, error) {
			if sum == nil {
				return plus(0, v.(int)), nil
			}
			return plus(sum.(int), v.(int)), nil
		}).Get()
		if err != nil {
			return 0, err
		}
		if got.Error() {
			return 0, got.E
		}
		return got.V.(int), nil
	}
}

func rxRetry(s rxgo.Observable) rxgo.Observable {
	return s.Retry(3, func(error) bool { return true })
}

func rxBackOffRetry(s rxgo.Observable) rxgo.Observable {
	return s.BackOffRetry(backoff4.WithMaxRetries(backoff4.NewExponentialBackOff(), 3))
}

// rillPipeline is github.com/destel/rill with one goroutine for each stage, because the work is too small for more. It
// has no context and no retry.
func rillPipeline(_ context.Context, n int) (int, error) {
	s := rill.FromSeq(rangeSeq(n), nil)
	s = rill.Map(s, 1, func(v int) (int, error) { return triple(v), nil })
	s = rill.Filter(s, 1, func(v int) (bool, error) { return even(v), nil })
	sum, _, err := rill.Reduce(s, 1, func(sum, v int) (int, error) { return plus(sum, v), nil })
	return sum, err
}

// concPipeline is github.com/sourcegraph/conc/stream, which runs a task for each item and takes the results in order.
// It has neither context nor retry; its documentation says that it is not meant for tasks as short as these.
func concPipeline(_ context.Context, n int) (int, error) {
	sum := 0
	s := concstream.New().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for v := range n {
		s.Go(func() concstream.Callback {
			v := triple(v)
			if !even(v) {
				return func() {}
			}
			return func() { sum = plus(sum, v) }
		})
	}
	s.Wait()
	return sum, nil
}

func only(got []int, err error) (int, error) {
	if err == nil && len(got) != 1 {
		err = errNothing
	}
	if err != nil {
		return 0, err
	}
	return got[0], nil
}
