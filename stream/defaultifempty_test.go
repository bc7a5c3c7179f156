package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// A source that ends because it was cancelled is not empty.
func TestDefaultIfEmpty_CancelledSource(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	careless := stream.Stream[int](func(context.Context, func(int) bool) error { cancel(errCause); return nil })
	other := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the other was run"); return nil })
	if got, err := careless.SwitchIfEmpty(other).Collect(ctx); got != nil || !endedBy(ctx, err) {
		t.Errorf("got %v, %v", got, err)
	}
}
