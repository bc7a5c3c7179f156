// Package mapretry measures operators.MapRetry, and its parts, compared with what people use otherwise.
package mapretry

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkHappyPath does the same work, items 0 to N-1 through a function that never fails, on errgroup with SetLimit
// and on MapRetry. One op is one item.
func BenchmarkHappyPath(b *testing.B) {
	for _, workers := range []int{2, 8, 64} {
		for _, work := range []int{0, 100, 1000, 10000} {
			name := fmt.Sprintf("workers=%d/work=%d", workers, work)
			b.Run("errgroup/"+name, func(b *testing.B) { errgroupLoop(b, workers, work) })
			b.Run("errgroup+chan/"+name, func(b *testing.B) { errgroupChan(b, workers, work) })
			b.Run("mapretry/"+name, func(b *testing.B) { mapretryLoop(b, workers, work, false) })
			b.Run("mapretry-ordered/"+name, func(b *testing.B) { mapretryLoop(b, workers, work, true) })
		}
	}
}

var policy = retry.New(backoff.Exponential(time.Second, 2), retry.Limit(5))

// spin is work that costs about n/2 ns.
func spin(n int) int {
	x := uint32(2463534242)
	for range n {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	return int(x)
}

func errgroupLoop(b *testing.B, workers, work int) {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(workers)
	results := make([]int, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			results[i] = spin(work)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// errgroupChan hands the results to one consumer, as MapRetry does.
func errgroupChan(b *testing.B, workers, work int) {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(workers)
	results := make(chan int, workers)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		defer close(results)
		for range b.N {
			g.Go(func() error {
				select {
				case results <- spin(work):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		_ = g.Wait()
	}()
	n, sum := 0, 0
	for v := range results {
		n++
		sum += v
	}
	runtime.KeepAlive(sum)
	if n != b.N {
		b.Fatal(n)
	}
}

func mapretryLoop(b *testing.B, workers, work int, ordered bool) {
	s := operators.MapRetry(stream.Range(0, b.N), policy, func(_ context.Context, i int) (int, error) {
		return spin(work), nil
	}, operators.MapRetryOptions[int]{Workers: workers, Ordered: ordered})
	n, sum := 0, 0
	b.ReportAllocs()
	b.ResetTimer()
	err := s(context.Background(), func(v int) bool {
		n++
		sum += v
		return true
	})
	runtime.KeepAlive(sum)
	if err != nil || n != b.N {
		b.Fatal(n, err)
	}
}
