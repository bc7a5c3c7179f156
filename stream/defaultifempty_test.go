package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// The other stream takes over with all it does, its failure too.
func TestSwitchIfEmpty_TheOthersFailure(t *testing.T) {
	expect(t, stream.Empty[int]().SwitchIfEmpty(stream.Fail[int](errBoom)), nil, errBoom)
}

// A consumer that stops at the first value has had one.
func TestSwitchIfEmpty_AStopIsNotEmpty(t *testing.T) {
	other := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the other was run"); return nil })
	expect(t, stream.Of(1, 2).SwitchIfEmpty(other).Take(1), []int{1}, nil)
}

// A source that ends because it was cancelled is not empty.
func TestDefaultIfEmpty_CancelledSource(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	careless := stream.Stream[int](func(context.Context, func(int) bool) error { cancel(errCause); return nil })
	other := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the other was run"); return nil })
	if got, err := careless.SwitchIfEmpty(other).Collect(ctx); got != nil || !endedBy(ctx, err) {
		t.Errorf("got %v, %v", got, err)
	}
}

// When ctx ends at the default value, that is no good end, unless the consumer stops there too.
func TestDefaultIfEmpty_CancelledInItsValue(t *testing.T) {
	for _, more := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := stream.Empty[int]().DefaultIfEmpty(1)(ctx, func(int) bool { cancel(errCause); return more })
		if more && !endedBy(ctx, err) || !more && err != nil {
			t.Errorf("asked for more: %v; got %v", more, err)
		}
	}
}
