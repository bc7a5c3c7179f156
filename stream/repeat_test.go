package stream_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestRepeat(t *testing.T) {
	expect(t, stream.Of(1, 2).Repeat(3), []int{1, 2, 1, 2, 1, 2}, nil)
	expect(t, stream.Of(1, 2).Repeat(1), []int{1, 2}, nil)
}

func TestRepeat_ZeroTimesDoesNotRunTheSource(t *testing.T) {
	ran := false
	expect(t, stream.Of(1).OnEnd(func(error) { ran = true }).Repeat(0), nil, nil)
	if ran {
		t.Error("the source was run")
	}
}

func TestRepeat_AnErrorEndsIt(t *testing.T) {
	expect(t, stream.Of(1).Concat(stream.Fail[int](errBoom)).Repeat(3), []int{1}, errBoom)
}

func TestRepeat_AStopEndsIt(t *testing.T) {
	runs := 0
	s := stream.Of(1, 2).OnEnd(func(error) { runs++ }).Repeat(5)
	expect(t, s.Take(3), []int{1, 2, 1}, nil)
	if runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}

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

func TestRepeatAndRetryNest(t *testing.T) {
	run := 0
	flaky := stream.Defer(func(context.Context) stream.Stream[int] {
		if run++; run%2 == 1 {
			return stream.Of(run).Concat(stream.Fail[int](errBoom))
		}
		return stream.Of(run)
	})
	expect(t, flaky.Retry(1).Repeat(2), []int{1, 2, 3, 4}, nil)
	run = 0
	expect(t, flaky.Repeat(2).Retry(1), []int{1, 2, 3}, errBoom)
}
