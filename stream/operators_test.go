package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// A source may break its contract: it goes on after its consumer has stopped, and then fails. These operators neither
// call the consumer again nor return that error.
func TestAConsumerThatHasStoppedIsLeftAlone(t *testing.T) {
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		for v := range 4 {
			if yield(v) {
				t.Errorf("yield of %d returned true", v)
			}
		}
		return errBoom
	})
	using := func(context.Context) (int, error) { return 0, nil }
	for name, s := range map[string]stream.Stream[int]{
		"FromSeq": stream.FromSeq(func(yield func(int) bool) { _ = rude(t.Context(), yield) }),
		"FromSeq2": stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { _ = rude(ctx, func(v int) bool { return yield(v, nil) }) }
		}),
		"RetryWhen": rude.RetryWhen(atOnce),
		"Using":     stream.Using(using, func(int) stream.Stream[int] { return rude }, func(int) error { return nil }),
		"All": func(ctx context.Context, yield func(int) bool) error {
			for v, err := range rude.All(ctx) { // which panics at a value after the break
				if err != nil || !yield(v) {
					return err
				}
			}
			return nil
		},
		"Catch":      rude.Catch(func(error) stream.Stream[int] { return stream.Of(9) }),
		"Concat":     rude.Concat(stream.Of(9)),
		"ConcatMap":  operators.ConcatMap(stream.Of(0, 0), func(int) stream.Stream[int] { return rude }),
		"First":      operators.First(rude),
		"MapErr":     operators.MapErr(rude, func(error) error { return errCause }),
		"MustNotEnd": rude.MustNotEnd(errCause),
		"OnEnd":      rude.OnEnd(func(error) {}),
		"Repeat":     rude.Repeat(2),
		"StartWith":  rude.StartWith(),
		"Take":       rude.Take(3),
		"TakeWhile":  rude.TakeWhile(func(int) bool { return true }),
		"TryFilter":  operators.TryFilter(rude, func(context.Context, int) (bool, error) { return true, nil }),
		"TryMap":     operators.TryMap(rude, func(_ context.Context, v int) (int, error) { return v, nil }),
	} {
		var got []int
		err := s(t.Context(), func(v int) bool { got = append(got, v); return false })
		if err != nil || !slices.Equal(got, []int{0}) {
			t.Errorf("%s: got %v and %v, want [0] and no error", name, got, err)
		}
	}
}

// An error of a function ends the run, whatever the source does afterwards.
func TestAFailedFunctionIsNotCalledAgain(t *testing.T) {
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		for v := range 4 {
			yield(v)
		}
		return errCause
	})
	calls := 0
	for name, s := range map[string]stream.Stream[int]{
		"TryFilter": operators.TryFilter(rude, func(context.Context, int) (bool, error) { calls++; return true, errBoom }),
		"TryMap":    operators.TryMap(rude, func(_ context.Context, v int) (int, error) { calls++; return v, errBoom }),
	} {
		calls = 0
		if got, err := s.Collect(t.Context()); err != errBoom || len(got) != 0 || calls != 1 {
			t.Errorf("%s: got %v and %v after %d calls, want %v after one", name, got, err, calls, errBoom)
		}
	}
}

// An operator that has nothing to do is the stream itself: the source runs on the caller's goroutine and under the
// caller's context, and not a value ahead.
func TestOperatorsThatDoNothingAreTheStreamItself(t *testing.T) {
	for name, operator := range map[string]func(stream.Stream[int]) stream.Stream[int]{
		"Delay(0)":           func(s stream.Stream[int]) stream.Stream[int] { return s.Delay(0) },
		"Debounce(0)":        func(s stream.Stream[int]) stream.Stream[int] { return s.Debounce(0) },
		"TimeShift(0, 9)":    func(s stream.Stream[int]) stream.Stream[int] { return s.TimeShift(0, 9) },
		"TakeUntilDone(nil)": func(s stream.Stream[int]) stream.Stream[int] { return s.TakeUntilDone(nil) },
		"Merge()":            func(s stream.Stream[int]) stream.Stream[int] { return s.Merge() },
		"Buffer(0)":          func(s stream.Stream[int]) stream.Stream[int] { return s.Buffer(0) },
		"ThrottleLatest(0)":  func(s stream.Stream[int]) stream.Stream[int] { return s.ThrottleLatest(0) },
		"Concat()":           func(s stream.Stream[int]) stream.Stream[int] { return s.Concat() },
	} {
		t.Run(name, func(t *testing.T) {
			var under context.Context
			made := 0
			src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
				under = ctx
				for made < 3 {
					if made++; !yield(made) {
						return nil
					}
				}
				return nil
			})
			ctx := t.Context()
			if err := operator(src)(ctx, func(v int) bool {
				if v != made {
					t.Errorf("the source is at %d while the consumer processes %d", made, v)
				}
				return true
			}); err != nil || made != 3 {
				t.Errorf("%d values, %v", made, err)
			}
			if under != ctx {
				t.Error("the source ran under another context")
			}
		})
	}
}

func TestOnEnd_IsToldOnceHowTheRunEnded(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	for name, test := range map[string]struct {
		s    stream.Stream[int]
		ctx  context.Context
		more bool
		want error
	}{
		"ends":                      {s: stream.Of(1), more: true},
		"fails":                     {s: stream.Of(1).Concat(stream.Fail[int](errBoom)), more: true, want: errBoom},
		"stopped":                   {s: stream.Of(1, 2)},
		"stopped, then a bad error": {s: func(_ context.Context, yield func(int) bool) error { yield(1); return errBoom }},
		"cancelled":                 {s: stream.Of(1), ctx: ended, more: true, want: errCause},
	} {
		t.Run(name, func(t *testing.T) {
			var told []error
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			err := test.s.OnEnd(func(err error) { told = append(told, err) })(ctx, func(int) bool { return test.more })
			if !errors.Is(err, test.want) || !slices.Equal(told, []error{err}) {
				t.Errorf("f received %v, returned %v, want %v", told, err, test.want)
			}
		})
	}
}

func TestOnEnd_IsToldOfAPanicThatGoesOn(t *testing.T) {
	var told []error
	s := stream.Of(1).OnEnd(func(err error) { told = append(told, err) })
	if v := recovered(func() { _ = s.ForEach(t.Context(), func(int) { panic("mine") }) }); v != "mine" {
		t.Errorf("panicked with %v", v)
	}
	if !exits(func() { _ = s.ForEach(t.Context(), func(int) { runtime.Goexit() }) }) {
		t.Error("the goroutine went on")
	}
	if len(told) != 2 || told[0] == nil || told[1] == nil {
		t.Errorf("f received %v, want an error twice", told)
	}
}

func TestConcat_KeepsItsOwnListOfStreams(t *testing.T) {
	others := []stream.Stream[int]{stream.Of(2)}
	s := stream.Of(1).Concat(others...)
	others[0] = nil
	expect(t, s, []int{1, 2}, nil)
}

func TestStartWith_KeepsItsOwnList(t *testing.T) {
	first := []int{1}
	s := stream.Of(2).StartWith(first...)
	first[0] = 9
	expect(t, s, []int{1, 2}, nil)
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

func TestCatch_CancellationPasses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := stream.FromFunc(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom })
	_, err := s.Catch(func(err error) stream.Stream[int] { panic(err) }).Collect(ctx)
	if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
		t.Errorf("%v: want both the cause and boom", err)
	}
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

func TestSkipLastAndTakeLast_OfMany(t *testing.T) {
	for n := range 12 {
		for length := range 30 {
			all, err := stream.Range(0, length).Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			left := max(0, length-n)
			expect(t, stream.Range(0, length).SkipLast(n), all[:left], nil)
			expect(t, stream.Range(0, length).TakeLast(n), all[left:], nil)
		}
	}
}

// However large n is, it takes the memory of the values that there are.
func TestTakeLast_HoldsWhatThereIs(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).TakeLast(int(^uint(0)>>1)), []int{1, 2, 3}, nil)
	expect(t, stream.Of(1, 2, 3).SkipLast(int(^uint(0)>>1)), nil, nil)
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

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ b, c, want, subs string }{
		"values as they come":                 {"--bc|", "-------d|", "-abc---d-e|", "^---------!"},
		"the first error cancels the others":  {"-----#", "--b-c-d", "-ab-c#", "^----!"},
		"an error at once, and one that ends": {"#", "|", "#", "(^!)"},
	} {
		session(t, name, func(s *streamtest.Session) {
			source := streamtest.Cold[string](s, "-a-------e|")
			others := []stream.Stream[string]{streamtest.Cold[string](s, c.b).Stream, streamtest.Cold[string](s, c.c).Stream}
			streamtest.Expect(s, source.Merge(others...)).ToBe(c.want)
			source.Subscriptions(c.subs)
		})
	}
}

// The consumer takes 10 ms for each value, the source 1 ms: with a buffer it never waits.
func TestBuffer_RunsAhead(t *testing.T) {
	for n, want := range []string{"11ms 0 10ms 1 10ms 2 10ms 3 10ms (4|)", "11ms 0 9ms 1 9ms 2 9ms 3 9ms (4|)"} {
		expectFlow(t, fmt.Sprint(n), func() stream.Stream[int] {
			return stream.Range(0, 5).Delay(ms).Buffer(n).Tap(func(int) { time.Sleep(10 * ms) })
		}, want, nil)
	}
}

func TestBuffer_WhatItHoldsIsDroppedAtACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := stream.Range(0, 5).Buffer(10).ForEach(ctx, func(int) {
			synctest.Wait()
			n++
			cancel(errCause)
		})
		if n != 1 || !endedBy(ctx, err) {
			t.Errorf("%d values, %v", n, err)
		}
	})
}
