package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestStartWith_SeveralAndNone(t *testing.T) {
	expect(t, stream.Of(3).StartWith(1, 2), []int{1, 2, 3}, nil)
	expect(t, stream.Of(3).StartWith(), []int{3}, nil)
	expect(t, stream.Of(3).StartWith(2).StartWith(1), []int{1, 2, 3}, nil)
}

func TestStartWith_TheEndInTheFirstValues(t *testing.T) {
	src := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the source was run"); return nil })
	expect(t, src.StartWith(1, 2).Take(2), []int{1, 2}, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := src.StartWith(1).ForEach(ctx, func(int) { cancel(errCause) }); !errors.Is(err, errCause) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStartWith_KeepsItsOwnList(t *testing.T) {
	first := []int{1}
	s := stream.Of(2).StartWith(first...)
	first[0] = 9
	expect(t, s, []int{1, 2}, nil)
}
