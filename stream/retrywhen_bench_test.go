package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkResubscribe is one failure and the attempt after it, without a delay.
func BenchmarkResubscribe(b *testing.B) {
	boom := errors.New("boom")
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancellable": b.Context()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			source := stream.Stream[int](func(context.Context, func(int) bool) error {
				if n++; n > b.N {
					return nil
				}
				return boom
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
