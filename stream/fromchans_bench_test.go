package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

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
