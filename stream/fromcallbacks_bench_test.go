package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkFromCallbacks: one value from a callback to the consumer and back, compared with an unbuffered channel,
// without and with an acknowledgement for each value.
func BenchmarkFromCallbacks(b *testing.B) {
	b.Run("push", func(b *testing.B) {
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
