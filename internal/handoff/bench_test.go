package handoff_test

import (
	"context"
	"testing"
)

// BenchmarkHandOver: one value from a source's goroutine to the consumer's and back, compared with a bare unbuffered
// channel and one with an answer for each value.
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
	b.Run("channel with answer", func(b *testing.B) {
		c, answer := make(chan int), make(chan struct{})
		go func() {
			defer close(c)
			for i := range b.N {
				c <- i
				<-answer
			}
		}()
		for range c {
			answer <- struct{}{}
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
