package between

import (
	"context"
	"time"

	ciliumstream "github.com/cilium/stream"
	"github.com/destel/rill"
	"github.com/samber/lo"
	"github.com/samber/ro"
	"github.com/sourcegraph/conc/pool"
)

// ro runs its sources one after the other, on the goroutine that subscribes, unless told otherwise.

func roInts(from, to int) ro.Observable[int64] { return ro.Range(int64(from), int64(to)) }

func roSum[T any](ctx context.Context, o ro.Observable[T], value func(T) int) (sum int, err error) {
	done := make(chan struct{})
	o.SubscribeWithContext(ctx, ro.NewObserver(
		func(v T) { sum += value(v) },
		func(e error) { err = e; close(done) },
		func() { close(done) },
	))
	<-done
	return sum, err
}

func fromInt64(v int64) int { return int(v) }

func roTimeout(ctx context.Context, n int) (int, error) {
	return roSum(ctx, ro.Timeout[int64](time.Hour)(roInts(0, n)), fromInt64)
}

func roObserveOn(ctx context.Context, n int) (int, error) {
	return roSum(ctx, ro.ObserveOn[int64](128)(roInts(0, n)), fromInt64)
}

func roMerge(ctx context.Context, n int) (int, error) {
	return roSum(ctx, ro.Merge(roInts(0, n/2), roInts(n/2, n)), fromInt64)
}

func roZip(ctx context.Context, n int) (int, error) {
	return roSum(ctx, ro.Zip2(roInts(0, n), roInts(0, n)), func(v lo.Tuple2[int64, int64]) int { return int(v.A) })
}

func roBatch(ctx context.Context, n int) (int, error) {
	return roSum(ctx, ro.BufferWithTimeOrCount[int64](100, time.Hour)(roInts(0, n)), func(batch []int64) (sum int) {
		for _, v := range batch {
			sum += int(v)
		}
		return sum
	})
}

func rillSum(in <-chan rill.Try[int]) (sum int, err error) {
	err = rill.ForEach(in, 1, func(v int) error { sum += v; return nil })
	return sum, err
}

func rillBuffer(_ context.Context, n int) (int, error) {
	return rillSum(rill.Buffer(rill.FromChan(ints(n, 0), nil), 128))
}

func rillMerge(_ context.Context, n int) (sum int, _ error) {
	upper := make(chan int)
	go func() {
		defer close(upper)
		for v := n / 2; v < n; v++ {
			upper <- v
		}
	}()
	for v := range rill.Merge(ints(n/2, 0), upper) {
		sum += v
	}
	return sum, nil
}

func rillBatch(_ context.Context, n int) (sum int, err error) {
	err = rill.ForEach(rill.Batch(rill.FromChan(ints(n, 0), nil), 100, time.Hour), 1, func(batch []int) error {
		for _, v := range batch {
			sum += v
		}
		return nil
	})
	return sum, err
}

func rillFlatMap(_ context.Context, n int) (int, error) {
	return rillSum(rill.FlatMap(rill.FromChan(ints(n, 0), nil), 4, func(v int) <-chan rill.Try[int] {
		return rill.FromSlice([]int{v}, nil)
	}))
}

// concPool runs a task for each item on four goroutines, which also add up the results.
func concPool(_ context.Context, n int) (int, error) {
	var sum adder
	p := pool.New().WithMaxGoroutines(4)
	for v := range n {
		p.Go(func() { sum.add(v) })
	}
	p.Wait()
	return sum.total(), nil
}

func ciliumBuffer(ctx context.Context, n int) (sum int, err error) {
	batches := ciliumstream.Buffer(ciliumstream.Range(0, n), 100, time.Hour, func(batch []int, v int) []int { return append(batch, v) })
	done := make(chan error)
	batches.Observe(ctx, func(batch []int) {
		for _, v := range batch {
			sum += v
		}
	}, func(err error) { done <- err })
	return sum, <-done
}

// ciliumMulticast calls both consumers on the source's goroutine, one after the other.
func ciliumMulticast(ctx context.Context, n int) (int, error) {
	shared, connect := ciliumstream.ToMulticast(ciliumstream.Range(0, n))
	var sum adder
	done := make(chan error, 2)
	for range 2 {
		shared.Observe(ctx, sum.add, func(err error) { done <- err })
	}
	connect(ctx)
	err := <-done
	if e := <-done; err == nil {
		err = e
	}
	return sum.total(), err
}
