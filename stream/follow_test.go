package stream_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestConcat(t *testing.T) {
	expect(t, stream.Of(1).Concat(stream.Of(2), stream.Empty[int](), stream.Of(3, 4)), []int{1, 2, 3, 4}, nil)
}

func TestConcat_AnErrorEndsIt(t *testing.T) {
	ran := false
	last := stream.Of(3).OnEnd(func(error) { ran = true })
	expect(t, stream.Of(1).Concat(stream.Of(2).Concat(stream.Fail[int](errBoom)), last), []int{1, 2}, errBoom)
	if ran {
		t.Error("what follows the failure was run")
	}
}

func TestConcat_AStopEndsItAll(t *testing.T) {
	ran := false
	s := stream.Of(1, 2).Concat(stream.Of(3).OnEnd(func(error) { ran = true }))
	if err := s(t.Context(), func(v int) bool { return v < 2 }); err != nil || ran {
		t.Errorf("%v; the second was run: %v", err, ran)
	}
}

func TestConcat_KeepsItsOwnListOfStreams(t *testing.T) {
	others := []stream.Stream[int]{stream.Of(2)}
	s := stream.Of(1).Concat(others...)
	others[0] = nil
	expect(t, s, []int{1, 2}, nil)
}

func TestCatch(t *testing.T) {
	var caught error
	s := stream.Of(1).Concat(stream.Fail[int](errBoom)).Catch(func(err error) stream.Stream[int] {
		caught = err
		return stream.Of(2)
	})
	expect(t, s, []int{1, 2}, nil)
	if caught != errBoom {
		t.Errorf("caught %v", caught)
	}
}

func TestCatch_NotCalledForAnEndOrAStop(t *testing.T) {
	f := func(err error) stream.Stream[int] { panic(err) }
	expect(t, stream.Of(1).Catch(f), []int{1}, nil)
	bad := stream.Stream[int](func(_ context.Context, yield func(int) bool) error { yield(1); return errBoom })
	expect(t, bad.Catch(f).Take(1), []int{1}, nil)
}

func TestCatch_NotItsOwnStream(t *testing.T) {
	calls := 0
	s := stream.Fail[int](errBoom).Catch(func(err error) stream.Stream[int] {
		calls++
		return stream.Fail[int](fmt.Errorf("again: %w", err))
	})
	expect(t, s, nil, errBoom)
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func TestCatch_CancellationPasses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := stream.FromFunc(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom })
	_, err := s.Catch(func(err error) stream.Stream[int] { panic(err) }).Collect(ctx)
	if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
		t.Errorf("%v: want both the cause and boom", err)
	}
}

func TestCatch_DeadlineInsideIsCaught(t *testing.T) {
	inner := stream.FromFunc(func(ctx context.Context) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
	expect(t, inner.Catch(func(error) stream.Stream[int] { return stream.Of(7) }), []int{7}, nil)
}

func TestCatch_PermanentErrorsToo(t *testing.T) {
	s := stream.Fail[int](stream.Permanent(errBoom)).Catch(func(error) stream.Stream[int] { return stream.Of(1) })
	expect(t, s, []int{1}, nil)
}

func TestCatch_NilStream(t *testing.T) {
	_, err := stream.Fail[int](errBoom).Catch(func(error) stream.Stream[int] { return nil }).Collect(t.Context())
	if !errors.Is(err, errBoom) || err.Error() != "stream: Catch: f returned a nil stream for: boom" {
		t.Error(err)
	}
}

func TestMustNotEnd(t *testing.T) {
	expect(t, stream.Of(1, 2).MustNotEnd(errBoom), []int{1, 2}, errBoom)
	expect(t, stream.Empty[int]().MustNotEnd(errBoom), nil, errBoom)
	expect(t, stream.Fail[int](errCause).MustNotEnd(errBoom), nil, errCause)
}

func TestMustNotEnd_AStopIsNoEnd(t *testing.T) {
	expect(t, stream.Of(1, 2).MustNotEnd(errBoom).Take(2), []int{1, 2}, nil)
}

func TestMustNotEnd_CancellationIsNoEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	careless := stream.Stream[int](func(context.Context, func(int) bool) error { cancel(errCause); return nil })
	if _, err := careless.MustNotEnd(errBoom).Collect(ctx); !endedBy(ctx, err) {
		t.Error(err)
	}
}

func TestMustNotEnd_IsRetried(t *testing.T) {
	expect(t, stream.Of(1).MustNotEnd(errBoom).Retry(2), []int{1, 1, 1}, errBoom)
}

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
