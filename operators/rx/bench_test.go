package rx_test

import (
	"context"
	"testing"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

// The cost of an item, compared with rxgo alone. rxgo sends it through a channel; the bridge does so once more in each
// direction.
func BenchmarkItem(b *testing.B) {
	src := func(n int) func(context.Context) rxgo.Observable {
		return func(ctx context.Context) rxgo.Observable {
			return rx.FromStream(stream.Range(0, n), rxgo.WithContext(ctx))
		}
	}
	read := func(items <-chan rxgo.Item) {
		for range items {
		}
	}
	b.Run("Range", func(b *testing.B) {
		b.ReportAllocs()
		read(rxgo.Range(0, b.N).Observe())
	})
	b.Run("rxgo-Retry", func(b *testing.B) {
		b.ReportAllocs()
		read(rxgo.Range(0, b.N).Retry(1, always).Observe())
	})
	b.Run("RetryWhen", func(b *testing.B) {
		b.ReportAllocs()
		read(rx.RetryWhen(func(ctx context.Context) rxgo.Observable { return rxgo.Range(0, b.N) }, atOnce(1)).Observe())
	})
	b.Run("FromStream", func(b *testing.B) {
		b.ReportAllocs()
		read(src(b.N)(b.Context()).Observe())
	})
	b.Run("ToStream", func(b *testing.B) {
		b.ReportAllocs()
		_ = rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.Range(0, b.N) }).ForEach(b.Context(), func(int) {})
	})
}

// The cost of an attempt: a source that fails at once is observed again without a delay.
func BenchmarkAttempt(b *testing.B) {
	b.Run("rxgo-Retry", func(b *testing.B) {
		b.ReportAllocs()
		for range rxgo.Just(errBoom)().Retry(b.N, always).Observe() {
		}
	})
	b.Run("RetryWhen", func(b *testing.B) {
		b.ReportAllocs()
		for range rx.RetryWhen(func(ctx context.Context) rxgo.Observable { return rxgo.Just(errBoom)() }, atOnce(b.N)).Observe() {
		}
	})
	b.Run("Wrap", func(b *testing.B) {
		b.ReportAllocs()
		for range rx.Wrap(rxgo.Just(errBoom)()).RetryWhen(atOnce(b.N)).Observe() {
		}
	})
}
