package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

var sum int

// Variables, so that the plain loop calls them as a stream has to.
var (
	even = func(v int) bool { return v%2 == 0 }
	add  = func(v int) { sum += v }
)

// BenchmarkFilter: a million ints through Range, Filter and ForEach, compared with a plain loop that calls the same
// functions.
func BenchmarkFilter(b *testing.B) {
	const n = 1_000_000
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for v := range n {
				if even(v) {
					add(v)
				}
			}
		}
	})
	for name, ctx := range contexts(b) {
		b.Run("stream/"+name, func(b *testing.B) {
			b.ReportAllocs()
			s := stream.Range(0, n).Filter(even)
			for b.Loop() {
				if err := s.ForEach(ctx, add); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The concurrent operators: what one value costs on its way to the caller's goroutine.

func BenchmarkMerge(b *testing.B) {
	b.ReportAllocs()
	perValue(b, func(n int) stream.Stream[int] { return stream.Range(0, n/2).Merge(stream.Range(0, n-n/2)) })
}

func BenchmarkBuffer(b *testing.B) {
	b.ReportAllocs()
	perValue(b, func(n int) stream.Stream[int] { return stream.Range(0, n).Buffer(128) })
}

func BenchmarkTimeout(b *testing.B) {
	b.ReportAllocs()
	perValue(b, func(n int) stream.Stream[int] { return stream.Range(0, n).Timeout(1 << 40) })
}

func perValue(b *testing.B, s func(n int) stream.Stream[int]) {
	if err := s(b.N).ForEach(b.Context(), func(v int) { sum += v }); err != nil {
		b.Fatal(err)
	}
}

func contexts(b *testing.B) map[string]context.Context {
	return map[string]context.Context{"background": context.Background(), "cancellable": b.Context()}
}

// BenchmarkResubscribe is one failure and the attempt after it, without a delay.
func BenchmarkResubscribe(b *testing.B) {
	for name, ctx := range contexts(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			source := stream.Stream[int](func(context.Context, func(int) bool) error {
				if n++; n > b.N {
					return nil
				}
				return errBoom
			})
			if _, err := source.RetryWhen(atOnce).Collect(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkRetryWhenItem is what RetryWhen adds to an item on its way.
func BenchmarkRetryWhenItem(b *testing.B) {
	source := func(n int) stream.Stream[int] { return stream.Range(0, n) }
	for _, bench := range []struct {
		name string
		wrap func(stream.Stream[int]) stream.Stream[int]
	}{
		{"bare", func(s stream.Stream[int]) stream.Stream[int] { return s }},
		{"retried", func(s stream.Stream[int]) stream.Stream[int] { return s.RetryWhen(atOnce) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			sum := 0
			if err := bench.wrap(source(b.N))(context.Background(), func(v int) bool { sum += v; return true }); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// A run whose producer closes only its values.
func BenchmarkFromChansClosesValues(b *testing.B) {
	s := stream.FromChans(func(context.Context) (<-chan int, <-chan error) {
		values, errs := make(chan int, 1), make(chan error, 1)
		values <- 1
		close(values)
		return values, errs
	})
	for b.Loop() {
		_ = s.ForEach(b.Context(), func(int) {})
	}
}
