package operators_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
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
