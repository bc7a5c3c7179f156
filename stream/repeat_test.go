package stream_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestRepeat_OfNothingCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	runs := 0
	careless := stream.Stream[int](func(context.Context, func(int) bool) error {
		if runs++; runs == 1000 {
			cancel(errCause)
		}
		return nil
	})
	if _, err := careless.Repeat(many).Collect(ctx); !endedBy(ctx, err) || runs != 1000 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

func TestRepeat_FlatStack(t *testing.T) {
	var depths []int
	pc := make([]uintptr, 256)
	s := stream.Of(1).Tap(func(int) { depths = append(depths, runtime.Callers(0, pc)) }).Repeat(10_000)
	if err := s.ForEach(t.Context(), func(int) {}); err != nil {
		t.Fatal(err)
	}
	if slices.Min(depths) != slices.Max(depths) {
		t.Errorf("the stack grows from %d to %d frames", slices.Min(depths), slices.Max(depths))
	}
}
