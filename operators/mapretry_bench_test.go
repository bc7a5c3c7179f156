package operators_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkMapRetry reports what an item costs, its call left out.
func BenchmarkMapRetry(b *testing.B) {
	for _, workers := range []int{1, 2, 8, 64} {
		for _, ordered := range []bool{false, true} {
			for _, fails := range []bool{false, true} {
				name := fmt.Sprintf("workers=%d/ordered=%v/fails=%v", workers, ordered, fails)
				b.Run(name, func(b *testing.B) { mapRetryItems(b, workers, ordered, fails) })
			}
		}
	}
}

// mapRetryItems makes one call for each item, or one that fails and, without a delay, one more.
func mapRetryItems(b *testing.B, workers int, ordered, fails bool) {
	p := retry.New(backoff.Backoff{})
	f := func(ctx context.Context, i int) (int, error) {
		if fails && stream.AttemptFrom(ctx) == 1 {
			return 0, errBoom
		}
		return i, nil
	}
	b.ReportAllocs()
	s := operators.MapRetry(stream.Range(0, b.N), p, f, options{Workers: workers, Ordered: ordered})
	if err := s.ForEach(context.Background(), func(int) {}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMapRetryWaiting has n items fail and wait. It reports what each costs in all - the source, the call, the
// decision, putting it aside - and how many bytes it takes beyond itself.
func BenchmarkMapRetryWaiting(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				spent += mapRetryWaiting(b, n)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(n*b.N), "ns/item")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// mapRetryWaiting reports the bytes and returns how long it took until all were waiting.
func mapRetryWaiting(b *testing.B, n int) (spent time.Duration) {
	p := retry.New(backoff.Func(func(_ int, u float64) time.Duration { return time.Hour + time.Duration(u*float64(time.Minute)) }))
	ctx, cancel := context.WithCancel(context.Background())
	before, start, calls := inUse(), time.Now(), 0
	_, err := operators.MapRetry(stream.Range(0, n), p, func(context.Context, int) (int, error) {
		if calls++; calls == n { // the others wait
			spent = time.Since(start)
			b.ReportMetric(float64(inUse()-before)/float64(n)-8, "B/item")
			cancel()
		}
		return 0, errBoom
	}, options{Workers: 1, MaxPending: n}).Collect(ctx)
	if !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	return spent
}

// inUse returns the bytes in use, stacks included.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
