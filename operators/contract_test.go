package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestContract_NumbersOutOfRange(t *testing.T) {
	s := stream.Of(1)
	of := func(int) ints { return s }
	all := func(window ints) ints { return window }
	call := func(context.Context, int) (int, error) { return 0, nil }
	page := func(context.Context, int) ([]int, int, error) { return nil, 0, nil }
	type options = operators.MapRetryOptions[int]
	for want, build := range map[string]func(){
		"Batch: most is 0, want at least 1":                    func() { operators.Batch(s, 0, 0) },
		"Batch: wait is -1ns, want at least 0":                 func() { operators.Batch(s, 1, -1) },
		"ExpBackoff: delay is -1s, want at least 0":            func() { operators.ExpBackoff(jitter.None, -time.Second, 3) },
		"ExpBackoff: retries is -1, want at least 0":           func() { operators.ExpBackoff(jitter.None, time.Second, -1) },
		"ExpBackoff: j is nil, want jitter.None for no jitter": func() { operators.ExpBackoff(nil, time.Second, 3) },
		"FlatMap: concurrency is 0, want at least 1":           func() { operators.FlatMap(s, 0, of) },
		"FlatMap: concurrency is -7, want at least 1":          func() { operators.FlatMap(s, -7, of) },
		"MapRetry: Workers is -1, want at least 0":             func() { operators.MapRetry(s, retry.Default, call, options{Workers: -1}) },
		"MapRetry: MaxPending is -2, want at least 0":          func() { operators.MapRetry(s, retry.Default, call, options{MaxPending: -2}) },
		"Poll: every is 0s, want more than 0":                  func() { operators.Poll(0, 0, page, again) },
		"Poll: every is -1s, want more than 0":                 func() { operators.Poll(-time.Second, 0, page, again) },
		"ShareN: n is 0, want at least 1":                      func() { operators.ShareN(s, 0) },
		"ShareReplay: n is 0, want at least 1":                 func() { operators.ShareReplay(s, 0) },
		"Window: most is 0, want at least 1":                   func() { operators.Window(s, 0, 0, all) },
		"Window: span is -1s, want at least 0":                 func() { operators.Window(s, 1, -time.Second, all) },
	} {
		check.Panics(t, "operators: "+want, build)
	}
}

// A function that returns a nil stream at run time is a clear error, and what runs concurrently has returned.
func TestContract_NilInnerStream(t *testing.T) {
	type s = stream.Stream[int]
	bad := func(v int) s {
		if v == 2 {
			return nil
		}
		return stream.Of(v)
	}
	for want, apply := range map[string]func(s) s{
		"operators: ConcatMap: f returned a nil stream":  func(src s) s { return operators.ConcatMap(src, bad) },
		"operators: FlatMap: f returned a nil stream":    func(src s) s { return operators.FlatMap(src, 2, bad) },
		"operators: SwitchMap: f returned a nil stream":  func(src s) s { return operators.SwitchMap(src, bad) },
		"operators: ExhaustMap: f returned a nil stream": func(src s) s { return operators.ExhaustMap(src, bad) },
		"operators: GroupBy: f returned a nil stream": func(src s) s {
			return operators.GroupBy(src, func(v int) int { return v }, func(k int, _ s) s { return bad(k) })
		},
		"operators: Window: f returned a nil stream": func(src s) s { return operators.Window(src, 1, 0, func(s) s { return nil }) },
		"operators: RepeatWhen: h returned a nil stream": func(src s) s {
			return operators.RepeatWhen(src, func(stream.Stream[operators.Completion]) s { return nil })
		},
	} {
		bubble(t, want, func(t *testing.T) {
			runs, returned := 0, 0
			src := stream.Defer(func(context.Context) s { runs++; return stream.Range(1, 3).Delay(ms) })
			_, err := apply(returns(src, &returned)).Collect(t.Context())
			if err == nil || err.Error() != want || runs != returned {
				t.Errorf("got %v; %d runs of the source, %d have returned", err, runs, returned)
			}
		})
	}
}

// ExpBackoff(…, 0, 0) is no mistake: one attempt.
func TestExpBackoff_OfNothing(t *testing.T) {
	err := retry.Run(t.Context(), operators.ExpBackoff(jitter.None, 0, 0), func(context.Context) error { return errBoom })
	if e, ok := err.(*retry.Error); !ok || e.Attempts != 1 {
		t.Errorf("got %v, want a *retry.Error after 1 attempt", err)
	}
}

// The options come after the number of retries.
func TestExpBackoff_OptionsAreAppliedAfterwards(t *testing.T) {
	err := retry.Run(t.Context(), operators.ExpBackoff(jitter.None, 0, 1, retry.Limit(2)), func(context.Context) error { return errBoom })
	if e, ok := err.(*retry.Error); !ok || e.Attempts != 3 {
		t.Errorf("got %v, want a *retry.Error after 3 attempts", err)
	}
}

// A Failure answers the failure with its N alone, any other value the one that waits.
func TestRetryWhen_WhichFailureIsAnswered(t *testing.T) {
	for answer, want := range map[any]int{stream.Failure{N: 1}: 2, stream.Failure{N: 2}: 1, stream.Failure{}: 2, "any": 2} {
		runs := 0
		src := stream.Defer(func(context.Context) stream.Stream[int] { runs++; return stream.Fail[int](errBoom) })
		err := operators.RetryWhen(src, func(failures stream.Stream[stream.Failure]) stream.Stream[any] {
			return operators.Map(failures.Take(1), func(stream.Failure) any { return answer })
		}).ForEach(t.Context(), func(int) {})
		if err != errBoom || runs != want {
			t.Errorf("answered with %v: %d attempts, %v; want %d", answer, runs, err, want)
		}
	}
}

func TestPair_String(t *testing.T) {
	if got := (operators.Pair[int, string]{First: 1, Second: "a"}).String(); got != "(1, a)" {
		t.Error(got)
	}
}

// RetryChans buffers nothing: the pipeline is one value ahead of the reader, which it offers.
func TestRetryChans_BuffersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		open := func(ctx context.Context) (<-chan int, <-chan error) {
			values := make(chan int)
			go func() {
				defer close(values)
				for n := range 10 {
					select {
					case values <- n:
						sent++
					case <-ctx.Done():
						return
					}
				}
			}()
			return values, nil
		}
		values, errs := operators.RetryChans(ctx, open, retry.Policy{})
		synctest.Wait()
		if sent != 1 {
			t.Errorf("%d values are taken before the first is read, want 1", sent)
		}
		cancel()
		for range values {
		}
		<-errs
	})
}

// Values that came before the source's error are delivered before it, whatever the scheduler does.
func TestBeforeAnError_NoValueIsLost(t *testing.T) {
	five := stream.Of(1, 2, 3, 4, 5).MustNotEnd(errBoom)
	for name, s := range map[string]ints{
		"GroupBy, one group":   operators.GroupBy(five, func(int) int { return 0 }, func(_ int, group ints) ints { return group }),
		"GroupBy, two groups":  operators.GroupBy(five, func(v int) int { return v % 2 }, func(_ int, group ints) ints { return group.Filter(positive) }),
		"GroupBy, five groups": operators.GroupBy(five, func(v int) int { return v }, func(_ int, group ints) ints { return group }),
		"GroupBy, Take(1)":     operators.GroupBy(five, func(int) int { return 0 }, func(_ int, group ints) ints { return group.Take(1) }),
		"FlatMap":              operators.FlatMap(five, math.MaxInt, self),
		"FlatMap, 2 at once":   operators.FlatMap(five, 2, self),
		"FlatMap, chains": operators.FlatMap(five, 3, func(v int) ints {
			return operators.Map(stream.Range(v, 1).Filter(positive).Take(3), func(v int) int { return v })
		}),
		"FlatMap, functions": operators.FlatMap(five, math.MaxInt, func(v int) ints {
			return func(_ context.Context, yield func(int) bool) error { yield(v); return nil }
		}),
		"ConcatMap": operators.ConcatMap(five, self),
		"Merge":     five.Merge(stream.Never[int]()),
		"Share":     operators.Share(five),
		"Buffer":    five.Buffer(2),
		"Batch":     flat(operators.Batch(five, 2, time.Hour)),
		"Batch and FlatMap": flat(operators.FlatMap(operators.Batch(five, 2, time.Hour), 2, func(v []int) stream.Stream[[]int] {
			return stream.Of(v)
		})),
		"Window": operators.Window(five, 2, 0, func(window ints) ints { return window }),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2000 {
				got, err := s.Collect(t.Context())
				if slices.Sort(got); !slices.Equal(got, []int{1, 2, 3, 4, 5}) || err != errBoom {
					t.Fatal(got, err)
				}
			}
		})
	}
}

func positive(v int) bool { return v > 0 }

// The inner stream of the last value begins before the source's error ends it. A value that comes before the inner
// stream of the one before has begun is a switch, or ignored.
func TestBeforeAnError_LastInnerStreamBegins(t *testing.T) {
	one := stream.Of(7).MustNotEnd(errBoom)
	for name, s := range map[string]ints{
		"SwitchMap":  operators.SwitchMap(one, self),
		"ExhaustMap": operators.ExhaustMap(one, self),
		"FlatMap":    operators.FlatMap(one, 2, self),
	} {
		t.Run(name, func(t *testing.T) {
			for range 20_000 {
				if got, err := s.Collect(t.Context()); !slices.Equal(got, []int{7}) || err != errBoom {
					t.Fatal(got, err)
				}
			}
		})
	}
	t.Run("SwitchMap, the last of five", func(t *testing.T) {
		s := operators.SwitchMap(stream.Of(1, 2, 3, 4, 5).MustNotEnd(errBoom), self)
		for range 2000 {
			if got, err := s.Collect(t.Context()); len(got) == 0 || got[len(got)-1] != 5 || err != errBoom {
				t.Fatal(got, err)
			}
		}
	})
}

// What an inner stream yields after the source's error, before it has returned, comes before the error.
func TestBeforeAnError_InnerStreamThatWindsDown(t *testing.T) {
	farewell := func(v string) strs {
		return func(ctx context.Context, yield func(string) bool) error {
			_ = yield(v)
			<-ctx.Done()
			time.Sleep(2 * ms)
			_ = yield(strings.ToUpper(v))
			return errors.New("a late error, which does not count")
		}
	}
	for name, apply := range map[string]func(strs) strs{
		"FlatMap":    func(s strs) strs { return operators.FlatMap(s, 2, farewell) },
		"SwitchMap":  func(s strs) strs { return operators.SwitchMap(s, farewell) },
		"ExhaustMap": func(s strs) strs { return operators.ExhaustMap(s, farewell) },
	} {
		session(t, name, func(s *streamtest.Session) {
			streamtest.Expect(s, apply(cold(s, "-a-#"))).ToBe("-a---(A#)")
			streamtest.Expect(s, apply(cold(s, "-a-#")).Take(2)).ToBe("-a---(A|)")
		})
		bubble(t, name+", cancelled meanwhile", func(t *testing.T) {
			if _, err := apply(stream.Of("a").MustNotEnd(errBoom)).Collect(cancelAt(t, ms)); !errors.Is(err, errCause) {
				t.Error(err)
			}
		})
	}
}
