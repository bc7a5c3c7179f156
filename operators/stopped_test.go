package operators_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// yields returns the stream of 1, 2, 3 … that stops when yield returns false, and notes what yield has returned.
func yields(got *[]bool) stream.Stream[int] {
	return func(_ context.Context, yield func(int) bool) error {
		for n := 1; ; n++ {
			more := yield(n)
			*got = append(*got, more)
			if !more {
				return nil
			}
		}
	}
}

// A source's yield returns false for the very value at which the stream is over: it does no work for a next one.
func TestASourceIsStoppedAtTheLastValue(t *testing.T) {
	for name, s := range map[string]func(source stream.Stream[int]) stream.Stream[int]{
		"FlatMap's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.FlatMap(stream.Of(0), 2, func(int) stream.Stream[int] { return source }).Take(2)
		},
		"ZipWith's second stream has ended": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.ZipWith(source, stream.Of(10), func(a, b int) int { return a + b })
		},
		"ZipWith's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.ZipWith(source, stream.Of(10, 20, 30), func(a, b int) int { return a + b }).Take(2)
		},
		"WithLatestFrom's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.WithLatestFrom(source, stream.Of(10), func(a, b int) int { return a + b }).Take(2)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var got []bool
			if err := s(yields(&got)).ForEach(t.Context(), func(int) {}); err != nil {
				t.Error(err)
			}
			if !slices.Equal(got, []bool{true, false}) {
				t.Errorf("yield has returned %v, want true, then false", got)
			}
		})
	}
}

// A context that an operator derives for a source ends with the run, so that the subscriber's context does not keep it.
func TestTheContextOfASourceEndsWithTheRun(t *testing.T) {
	add := func(a, b int) int { return a + b }
	for name, apply := range map[string]func(source ints) ints{
		"ExhaustMap": func(source ints) ints {
			return operators.ExhaustMap(stream.Of(0), func(int) ints { return source })
		},
		"FlatMap": func(source ints) ints {
			return operators.FlatMap(stream.Of(0), 2, func(int) ints { return source })
		},
		"Sample": func(source ints) ints { return operators.Sample(source, stream.Never[int]()) },
		"SwitchMap": func(source ints) ints {
			return operators.SwitchMap(stream.Of(0), func(int) ints { return source })
		},
		"TakeUntil":       func(source ints) ints { return operators.TakeUntil(source, stream.Never[int]()) },
		"TakeUntilDone":   func(source ints) ints { return source.TakeUntilDone(make(chan struct{})) },
		"Timeout":         func(source ints) ints { return source.Timeout(time.Hour) },
		"ZipWith's first": func(source ints) ints { return operators.ZipWith(source, stream.Of(10, 20, 30), add) },
		"ZipWith's other": func(source ints) ints { return operators.ZipWith(stream.Of(10), source, add) },
	} {
		bubble(t, name, func(t *testing.T) {
			var seen context.Context
			err := apply(func(ctx context.Context, yield func(int) bool) error {
				seen = ctx
				yield(1)
				return nil
			}).ForEach(t.Context(), func(int) {})
			if err != nil || seen == t.Context() || seen.Err() == nil {
				t.Errorf("%v; the source's context: %v", err, seen)
			}
		})
	}
}

// Window returns when a goroutine that runs the window has, also when f's stream fails earlier.
func TestWindow_IsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, failure, left := time.Now(), errors.New("failure"), time.Duration(0)
		s := operators.Window(stream.Range(1, 4), 2, 0, func(window stream.Stream[int]) stream.Stream[int] {
			return func(ctx context.Context, _ func(int) bool) error {
				taken := make(chan struct{})
				go window(ctx, func(int) bool {
					close(taken)
					time.Sleep(time.Second)
					left = time.Since(began)
					return false
				})
				<-taken
				return failure
			}
		})
		if err := s.ForEach(t.Context(), func(int) {}); err != failure {
			t.Errorf("got %v, want %v", err, failure)
		}
		if left != time.Second || time.Since(began) != time.Second {
			t.Errorf("the window was left after %v, and Window returned after %v, want 1s and 1s", left, time.Since(began))
		}
	})
}
