package handoff_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkHandOver: one value from a source's goroutine, or a callback, to the consumer's and back, compared with an
// unbuffered channel, without and with an acknowledgement for each value.
func BenchmarkHandOver(b *testing.B) {
	b.Run("handoff", func(b *testing.B) {
		b.ReportAllocs()
		src := func(_ context.Context, yield func(int) bool) error {
			for i := range b.N {
				yield(i)
			}
			return nil
		}
		if err := merge(b.Context(), []source{src}, func(int) bool { return true }); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("FromCallbacks", func(b *testing.B) {
		b.ReportAllocs()
		s := stream.FromCallbacks(func(_ context.Context, push func(int) bool) error {
			for i := range b.N {
				push(i)
			}
			return nil
		})
		if err := s(b.Context(), func(int) bool { return true }); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan int)
		go func() {
			defer close(c)
			for i := range b.N {
				c <- i
			}
		}()
		for range c {
		}
	})
	b.Run("channel with acknowledgement", func(b *testing.B) {
		c, ack := make(chan int), make(chan struct{})
		go func() {
			defer close(c)
			for i := range b.N {
				c <- i
				<-ack
			}
		}()
		for range c {
			ack <- struct{}{}
		}
	})
}

// BenchmarkRun: a run of one source that ends at once.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	src := []source{func(context.Context, func(int) bool) error { return nil }}
	for b.Loop() {
		if err := merge(b.Context(), src, func(int) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
