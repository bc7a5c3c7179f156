package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

const million = 1_000_000

// The functions of the benchmarks: variables, so that neither the loop nor the pipeline can inline them.
var (
	triple = func(v int) int { return 3 * v }
	even   = func(v int) bool { return v%2 == 0 }
	plus   = func(sum, v int) int { return sum + v }
	self   = func(v int) stream.Stream[int] { return stream.Of(v) }
	sink   int
)

// BenchmarkPipeline is a million ints through Map, Filter and Reduce, compared with a plain loop that calls the same
// functions, and with RetryWhen around it. An op is the whole million; the ratios are those of ns/op.
func BenchmarkPipeline(b *testing.B) {
	pipeline := operators.Reduce(operators.Map(stream.Range(0, million), triple).Filter(even), 0, plus)
	policy := operators.ExpBackoff(jitter.Default, time.Second, 3)
	// Around the values too, not the result alone: each of them passes through RetryWhen.
	retried := operators.Reduce(operators.Map(stream.Range(0, million), triple).Filter(even).RetryWhen(policy), 0, plus)
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sum := 0
			for i := range million {
				if v := triple(i); even(v) {
					sum = plus(sum, v)
				}
			}
			sink = sum
		}
	})
	run := func(name string, ctx context.Context, s stream.Stream[int]) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s(ctx, func(v int) bool { sink = v; return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("stream", context.Background(), pipeline)
	run("stream, cancellable", b.Context(), pipeline)
	run("stream, RetryWhen around it", context.Background(), pipeline.RetryWhen(policy))
	run("stream, RetryWhen before Reduce", context.Background(), retried)
	run("stream, RetryWhen before Reduce, cancellable", b.Context(), retried)
}

// BenchmarkValue is what one value costs on its way through an operator: the synchronous ones a function call or two,
// those whose source runs on another goroutine a hand-over.
func BenchmarkValue(b *testing.B) {
	first := func(a, _ int) int { return a }
	for _, c := range []struct {
		name string
		make func(n int) stream.Stream[int]
	}{
		{"Range alone", func(n int) stream.Stream[int] { return stream.Range(0, n) }},
		{"Map", func(n int) stream.Stream[int] { return operators.Map(stream.Range(0, n), triple) }},
		{"Scan", func(n int) stream.Stream[int] { return operators.Scan(stream.Range(0, n), 0, plus) }},
		{"DistinctUntilChanged", func(n int) stream.Stream[int] { return operators.DistinctUntilChanged(stream.Range(0, n)) }},
		{"Pairwise", func(n int) stream.Stream[int] {
			return operators.Map(operators.Pairwise(stream.Range(0, n)), func(p operators.Pair[int, int]) int { return p.First })
		}},
		{"TakeUntil", func(n int) stream.Stream[int] { return operators.TakeUntil(stream.Range(0, n), stream.Never[int]()) }},
		{"WithLatestFrom", func(n int) stream.Stream[int] {
			return operators.WithLatestFrom(stream.Range(0, n), stream.Of(1), first)
		}},
		{"Batch(100)", func(n int) stream.Stream[int] {
			return operators.Map(operators.Batch(stream.Range(0, n), 100, 0), func(v []int) int { return len(v) })
		}},
		{"Batch(100, 1s)", func(n int) stream.Stream[int] {
			return operators.Map(operators.Batch(stream.Range(0, n), 100, time.Second), func(v []int) int { return len(v) })
		}},
		{"ConcatMap of single values", func(n int) stream.Stream[int] { return operators.ConcatMap(stream.Range(0, n), self) }},
		{"ConcatMap of one stream", func(n int) stream.Stream[int] {
			return operators.ConcatMap(stream.Of(0), func(int) stream.Stream[int] { return stream.Range(0, n) })
		}},
		{"FlatMap(4) of single values", func(n int) stream.Stream[int] { return operators.FlatMap(stream.Range(0, n), 4, self) }},
		{"FlatMap(4) of four streams", func(n int) stream.Stream[int] {
			return operators.FlatMap(stream.Range(0, 4), 4, func(int) stream.Stream[int] { return stream.Range(0, n/4) })
		}},
		{"SwitchMap of one stream", func(n int) stream.Stream[int] {
			return operators.SwitchMap(stream.Of(0), func(int) stream.Stream[int] { return stream.Range(0, n) })
		}},
		{"ZipWith", func(n int) stream.Stream[int] {
			return operators.ZipWith(stream.Range(0, n), stream.Range(0, n), first)
		}},
		{"Race", func(n int) stream.Stream[int] { return operators.Race(stream.Range(0, n), stream.Never[int]()) }},
		{"Window(100)", func(n int) stream.Stream[int] {
			return operators.Window(stream.Range(0, n), 100, 0, func(window stream.Stream[int]) stream.Stream[int] { return window })
		}},
		{"Window(MaxInt, 1h)", func(n int) stream.Stream[int] {
			return operators.Window(stream.Range(0, n), math.MaxInt, time.Hour, func(window stream.Stream[int]) stream.Stream[int] { return window })
		}},
		{"GroupBy, four keys", func(n int) stream.Stream[int] {
			return operators.GroupBy(stream.Range(0, n), func(v int) int { return v % 4 }, func(_ int, group stream.Stream[int]) stream.Stream[int] { return group })
		}},
		{"Share, one consumer", func(n int) stream.Stream[int] { return operators.Share(stream.Range(0, n)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			s := c.make(b.N)
			b.ResetTimer()
			if err := s(b.Context(), func(v int) bool { sink = v; return true }); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkResumeItem is one value of a stream alone, under RetryWhen, and under Resume and ResumeMarked.
func BenchmarkResumeItem(b *testing.B) {
	policy := operators.ExpBackoff(jitter.Default, time.Second, 3)
	next := func(_, v int) int { return v + 1 }
	for _, bench := range []struct {
		name string
		make func(n int) stream.Stream[int]
	}{
		{"bare", func(n int) stream.Stream[int] { return stream.Range(0, n) }},
		{"RetryWhen", func(n int) stream.Stream[int] { return stream.Range(0, n).RetryWhen(policy) }},
		{"Resume", func(n int) stream.Stream[int] {
			return operators.Resume(0, func(at int) stream.Stream[int] { return stream.Range(at, n-at) }, next, policy)
		}},
		{"ResumeMarked", func(n int) stream.Stream[int] {
			return operators.ResumeMarked(0, func(at int) stream.Stream[operators.Marked[int, int]] {
				return func(_ context.Context, yield func(operators.Marked[int, int]) bool) error {
					for v := at; v < n; v++ {
						if !yield(operators.Marked[int, int]{Value: v, At: v + 1}) {
							return nil
						}
					}
					return nil
				}
			}, policy)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			s := bench.make(b.N)
			b.ResetTimer()
			if err := s(context.Background(), func(v int) bool { sink = v; return true }); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPollItem is one value of a slice, and one of a page of a hundred.
func BenchmarkPollItem(b *testing.B) {
	values := make([]int, 100)
	run := func(name string, s func(n int) stream.Stream[int]) {
		for kind, ctx := range map[string]context.Context{"": b.Context(), " without an end": context.Background()} {
			b.Run(name+kind, func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				if err := s(b.N)(ctx, func(v int) bool { n++; sink = v; return n < b.N }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	run("FromSlice", func(n int) stream.Stream[int] { return stream.FromSlice(values).Repeat(n) })
	run("Poll", func(int) stream.Stream[int] {
		return operators.Poll(time.Second, 0, func(_ context.Context, at int) ([]int, int, error) { return values, at + 1, nil },
			operators.ExpBackoff(jitter.Default, time.Second, 3))
	})
}

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
