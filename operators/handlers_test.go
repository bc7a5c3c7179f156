package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// pointed is a handler as a nil pointer too.
type pointed struct{}

func (*pointed) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return failures
}

// A nil pointer that is a handler as it is may be used.
func TestHandlers_ANilPointerThatIsOne(t *testing.T) {
	if err := stream.Of(1).RetryWhen((*pointed)(nil)).ForEach(t.Context(), func(int) {}); err != nil {
		t.Error(err)
	}
}

// A bookmark ends the outage of each retried stream around, as stream.Works does.
func TestResumeMarked_ABookmarkEndsTheOutagesAround(t *testing.T) {
	var mu sync.Mutex
	var notes []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	}
	policy := func(name string) retry.Policy {
		return retry.New(retry.Default.Backoff(), retry.OnRecovered(func(context.Context, retry.Recovery) { note(name) }))
	}
	synctest.Test(t, func(t *testing.T) {
		opened, run := 0, 0
		inner := operators.ResumeMarked(0, func(int) marks {
			if opened++; opened == 2 {
				return broken()
			}
			return stream.Of(bookmark(1)).Concat(stream.Of(at(2)).Delay(time.Hour))
		}, policy("inner"))
		outer := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			if run++; run == 1 {
				return errBoom
			}
			if opened = 1; run == 2 {
				time.AfterFunc(time.Minute, func() { note("a minute later") })
			}
			return inner(ctx, yield)
		})
		err := outer.RetryWhen(policy("outer")).RetryWhen(policy("around it")).ForEach(t.Context(), func(v int) { note(fmt.Sprint(v)) })
		if got, want := fmt.Sprint(notes), "[inner outer a minute later 2]"; err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
}

// A signal that is merged with the answers to the failures: if an answer bears its failure's number, each attempt but
// those of the signal has waited. Of answers without it, the second may be taken for one to the next failure.
func TestRetryWhen_AnswersThatRace(t *testing.T) {
	const delay = time.Second
	for name, c := range map[string]struct {
		answer func(f stream.Failure) stream.Stream[stream.Failure]
		early  bool
	}{
		"with the number":    {func(f stream.Failure) stream.Stream[stream.Failure] { return stream.Of(f).Delay(delay) }, false},
		"without the number": {func(stream.Failure) stream.Stream[stream.Failure] { return stream.Of(stream.Failure{}).Delay(delay) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			early := 0
			for range 500 {
				synctest.Test(t, func(t *testing.T) {
					var failed time.Time
					run := 0
					src := stream.Stream[int](func(context.Context, func(int) bool) error {
						if run++; run == 3 && time.Since(failed) < delay {
							early++
						}
						if failed = time.Now(); run == 3 {
							return nil
						}
						return errBoom
					})
					_ = src.RetryWhen(stream.RetryHandlerFunc(func(all stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
						signal := stream.Of(stream.Failure{N: 1}).Delay(delay) // at the end of the first wait
						return operators.SwitchMap(all, c.answer).Merge(signal)
					})).ForEach(t.Context(), func(int) {})
				})
			}
			if (early > 0) != c.early {
				t.Errorf("%d of 500 attempts began before their wait was over", early)
			}
		})
	}
}

// classic is the form in which retryWhen became known: zip the failures with the numbers of the attempts, map each to a
// timer of delay·n²·jitter. join is flatMap or concatMap.
func classic(join func(stream.Stream[int], func(int) stream.Stream[time.Time]) stream.Stream[time.Time], delay time.Duration, retries int, factor float64) func(stream.Stream[stream.Failure]) stream.Stream[time.Time] {
	return func(failures stream.Stream[stream.Failure]) stream.Stream[time.Time] {
		attempts := operators.ZipWith(failures, stream.Range(1, retries), func(_ stream.Failure, n int) int { return n })
		return join(attempts, func(n int) stream.Stream[time.Time] {
			return stream.Timer(time.Duration(math.Round(float64(delay) * float64(n*n) * factor)))
		})
	}
}

// attempts is a source whose attempts take 100 ms and fail until the last one; it notes when each of them starts.
func attempts(starts *[]time.Duration, failing int) stream.Stream[string] {
	var begun time.Time
	return stream.Defer(func(ctx context.Context) stream.Stream[string] {
		now := stream.ClockFrom(ctx).Now()
		if len(*starts) == 0 {
			begun = now
		}
		if *starts = append(*starts, now.Sub(begun)); len(*starts) > failing {
			return fromScript("100a 100|")
		}
		return fromScript("100#")
	})
}

func TestClassic_AttemptsComeAtExpBackoffsTimes(t *testing.T) {
	const u = 0.25
	flatMap := func(s ints, f func(int) stream.Stream[time.Time]) stream.Stream[time.Time] {
		return operators.FlatMap(s, math.MaxInt, f)
	}
	for name, c := range map[string]struct {
		jitter  jitter.Jitter
		failing int
		want    []time.Duration
		end     string
	}{
		"no jitter, giving up": {jitter.None, 4,
			[]time.Duration{0, 1100 * ms, 5200 * ms, 14300 * ms}, "14400#"},
		"no jitter, the last retry succeeds": {jitter.None, 3,
			[]time.Duration{0, 1100 * ms, 5200 * ms, 14300 * ms}, "14400a 14400|"},
		"jitter of 0.925": {jitter.Default, 4,
			[]time.Duration{0, 1025 * ms, 4825 * ms, 13250 * ms}, "13350#"},
	} {
		bubble(t, name, func(t *testing.T) {
			forms := map[string]func(stream.Stream[string]) stream.Stream[string]{
				"ExpBackoff": func(src stream.Stream[string]) stream.Stream[string] {
					return src.RetryWhen(operators.ExpBackoff(c.jitter, time.Second, 3, retry.WithRand(func() float64 { return u })))
				},
				"classic, ConcatMap": func(src stream.Stream[string]) stream.Stream[string] {
					return operators.RetryWhen(src, classic(operators.ConcatMap[int, time.Time], time.Second, 3, c.jitter.Factor(u)))
				},
				"classic, FlatMap": func(src stream.Stream[string]) stream.Stream[string] {
					return operators.RetryWhen(src, classic(flatMap, time.Second, 3, c.jitter.Factor(u)))
				},
			}
			for form, with := range forms {
				var starts []time.Duration
				got := play(t.Context(), with(attempts(&starts, c.failing)))
				if !slices.Equal(starts, c.want) || got != c.end {
					t.Errorf("%s: attempts at %v, %s, want %v, %s", form, starts, got, c.want, c.end)
				}
			}
		})
	}
}

type completions = stream.Stream[operators.Completion]

func TestRepeatWhen_Times(t *testing.T) {
	session(t, "a handler that never looks at the ends", func(s *streamtest.Session) {
		h := func(completions) stream.Stream[time.Time] { return stream.Interval(5 * ms).Take(2) }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).ToBe("-a------a----a|")
	})
	session(t, "a Completion is an answer like any other, whatever its N", func(s *streamtest.Session) {
		h := func(ends completions) completions {
			return operators.Map(ends, func(c operators.Completion) operators.Completion { c.N++; return c }).Take(2)
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).ToBe("-a-a-a|")
	})
}

func TestRepeatWhen_Errors(t *testing.T) {
	bubble(t, "the source's is returned at once, as it is", func(t *testing.T) {
		mine := errors.New("mine")
		asked := 0
		h := func(ends completions) completions { // its own error, when it is told to end, counts for nothing
			return func(ctx context.Context, yield func(operators.Completion) bool) error {
				_ = ends.Tap(func(operators.Completion) { asked++ })(ctx, yield)
				return errBoom
			}
		}
		runs := 0
		src := stream.Defer(func(context.Context) strs {
			if runs++; runs == 3 {
				return stream.Fail[string](mine)
			}
			return stream.Empty[string]()
		})
		if _, err := operators.RepeatWhen(src, h).Collect(t.Context()); err != mine || asked != 2 {
			t.Errorf("%v; asked %d times", err, asked)
		}
	})
	bubble(t, "a permanent one keeps its mark for the retry outside", func(t *testing.T) {
		_, err := operators.RepeatWhen(stream.Fail[int](stream.Permanent(errBoom)), func(ends completions) completions { return ends }).Retry(5).Collect(t.Context())
		if !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	bubble(t, "a source that can be run once only", func(t *testing.T) {
		ch := make(chan int)
		close(ch)
		_, err := operators.RepeatWhen(stream.FromChan(ch), func(ends completions) completions { return ends }).Collect(t.Context())
		if err != stream.ErrNotRestartable {
			t.Error(err)
		}
	})
	session(t, "the handler's takes effect after the run it started", func(s *streamtest.Session) {
		h := func(ends completions) completions {
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).Error(errBoom).ToBe("-a-a#")
	})
	session(t, "the handler's, at once", func(s *streamtest.Session) {
		h := func(ends completions) strs { return stream.Fail[string](errBoom) }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).Error(errBoom).ToBe("-a#")
	})
	session(t, "retried outside, the handler is a new one", func(s *streamtest.Session) {
		made := 0
		h := func(ends completions) completions {
			made++
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h).Retry(1)).Error(errBoom).ToBe("-a-a-a-a#")
		if made != 2 {
			s.T().Error(made)
		}
	})
	bubble(t, "the handler's, after the end of the context", func(t *testing.T) {
		h := func(completions) strs {
			return func(ctx context.Context, _ func(string) bool) error { <-ctx.Done(); return errBoom }
		}
		_, err := operators.RepeatWhen(stream.Of("a"), h).Collect(cancelAt(t, time.Minute))
		if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) {
			t.Errorf("ended with %v, want the cause, context.Canceled and boom", err)
		}
	})
}

// The rounds are no retries: AttemptFrom counts those of the source and those around RepeatWhen.
func TestRepeatWhen_RoundsHaveNoNumber(t *testing.T) {
	var got []int
	round := 0
	poll := stream.FromFunc(func(ctx context.Context) (int, error) {
		got = append(got, stream.AttemptFrom(ctx))
		if round++; round == 2 || round == 5 {
			return 0, errors.New("busy")
		}
		return 0, nil
	})
	thrice := func(done stream.Stream[operators.Completion]) stream.Stream[operators.Completion] {
		return done.Take(3)
	}
	_, err := operators.RepeatWhen(poll.Retry(1), thrice).Retry(1).Collect(t.Context())
	if want := []int{1, 1, 2, 1, 1, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("inside: %v, want %v: %v", got, want, err)
	}
	got, round = nil, 1
	_, err = operators.RepeatWhen(poll, thrice).Retry(1).Collect(t.Context())
	if want := []int{1, 2, 2, 2}; err == nil || !slices.Equal(got, want) {
		t.Errorf("around: %v, want %v and a failure: %v", got, want, err)
	}
}
