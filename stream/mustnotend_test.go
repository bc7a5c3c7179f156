package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestMustNotEnd(t *testing.T) {
	expect(t, stream.Of(1, 2).MustNotEnd(errBoom), []int{1, 2}, errBoom)
	expect(t, stream.Empty[int]().MustNotEnd(errBoom), nil, errBoom)
	expect(t, stream.Fail[int](errCause).MustNotEnd(errBoom), nil, errCause)
}

func TestMustNotEnd_CancellationIsNoEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	careless := stream.Stream[int](func(context.Context, func(int) bool) error { cancel(errCause); return nil })
	if _, err := careless.MustNotEnd(errBoom).Collect(ctx); !endedBy(ctx, err) {
		t.Error(err)
	}
}
