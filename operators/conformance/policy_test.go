package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// waits runs a stream that always fails at once, under the policy with at most n retries. It returns the wait before
// each retry.
func waits(s *session, p retry.Policy, n int) (all []time.Duration) {
	var last time.Time
	src := stream.Stream[string](func(context.Context, func(string) bool) error {
		if now := time.Now(); last.IsZero() {
			last = now
		} else {
			all = append(all, now.Sub(last))
			last = now
		}
		return errBoom
	})
	_, _ = src.RetryWhen(p.With(retry.Limit(n))).Collect(s.Context())
	return all
}

func expectWaits(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("waits of %v, want %v", got, want)
	}
}

// Reactor: doBeforeRetry and similar hooks. Each retry is reported once, before its wait, and the end once. RxJava and
// RxJS have no hooks: there they are side effects of the notifier.
func TestPolicy_HooksInOrder(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		j := &journal{s: s}
		policy := retry.New(backoff.Linear(10*ms), retry.Limit(2),
			retry.OnRetry(func(_ context.Context, e retry.Event) {
				j.note("retry %d: %v, wait %v, elapsed %v", e.N, e.Err, e.Delay, e.Elapsed)
			}),
			retry.OnRetry(func(context.Context, retry.Event) { j.note("second hook") }),
			retry.OnGiveUp(func(_ context.Context, e *retry.Error) { j.note("give up after %d", e.Attempts) }))
		src := stream.Defer(func(context.Context) text {
			j.note("attempt")
			return stream.Fail[string](errBoom)
		})
		_, err := src.RetryWhen(policy).Collect(s.Context())
		j.note("%v", errors.Is(err, retry.ErrExhausted))
		j.expect(t,
			"0s attempt", "0s retry 1: boom, wait 10ms, elapsed 0s", "0s second hook",
			"10ms attempt", "10ms retry 2: boom, wait 20ms, elapsed 10ms", "10ms second hook",
			"30ms attempt", "30ms give up after 3", "30ms true")
	})
}

// Reactor: maxBackoff. No delay exceeds the cap. RxJava and RxJS have no backoff of their own.
func TestPolicy_Cap(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		expectWaits(t, waits(s, retry.New(backoff.Exponential(ms, 10).Cap(50*ms)), 5), ms, 10*ms, 50*ms, 50*ms, 50*ms)
	})
}

// Reactor: minBackoff, a lower bound for jittered delays. Here Plus is the lower bound, with a jitter that only adds.
// RxJava and RxJS have none.
func TestPolicy_Floor(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		b := backoff.Exponential(ms, 2).Plus(5 * ms).Jitter(jitter.Uniform(1, 2))
		expectWaits(t, waits(s, retry.New(b, retry.WithRand(s.Rand(0, 0, 0.5, 0.5))), 4), 6*ms, 7*ms, 13500*time.Microsecond, 19500*time.Microsecond)
	})
}

// Reactor: jitter. The factor at u = 0, ½ and the largest number below 1. RxJava and RxJS have none.
func TestPolicy_JitterAtTheEndsAndInTheMiddle(t *testing.T) {
	last := math.Nextafter(1, 0)
	for _, test := range []struct {
		jitter jitter.Jitter
		want   []time.Duration
	}{
		{jitter.None, []time.Duration{time.Second, time.Second, time.Second}},
		{jitter.Default, []time.Duration{850 * ms, time.Second, 1150 * ms}},
		{jitter.Full, []time.Duration{0, 500 * ms, time.Second}},
		{jitter.Equal, []time.Duration{500 * ms, 750 * ms, time.Second}},
		{jitter.Deviation(0.5), []time.Duration{500 * ms, time.Second, 1500 * ms}},
	} {
		t.Run(fmt.Sprint(test.jitter), func(t *testing.T) {
			streamtest.Run(t, func(s *session) {
				b := backoff.Constant(time.Second).Jitter(test.jitter)
				for i, d := range waits(s, retry.New(b, retry.WithRand(s.Rand(0, 0.5, last))), 3) {
					if off := d - test.want[i]; off < -1 || off > 1 { // rounded to a nanosecond
						t.Errorf("a wait of %v, want %v", d, test.want[i])
					}
				}
			})
		})
	}
}

// Reactor: at maxBackoff the jitter still spreads the delays, below the cap. The same here: the curve is limited so
// that the largest factor just reaches the cap. RxJava and RxJS have neither.
func TestPolicy_JitterStillSpreadsAtTheCap(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		b := backoff.Exponential(time.Hour, 10).Cap(115 * ms).Jitter(jitter.Default)
		got := waits(s, retry.New(b, retry.WithRand(s.Rand(0, 0.5, math.Nextafter(1, 0)))), 3)
		for i, want := range []time.Duration{85 * ms, 100 * ms, 115 * ms} {
			if off := got[i] - want; off < -1 || off > 0 {
				t.Errorf("waits of %v", got)
			}
		}
	})
}

// Reactor: transientErrors(true); RxJS: resetOnSuccess. Each of ten bursts of failures has all retries, because values
// came in between. RxJava has no such option.
func TestPolicy_TransientFailuresOverTenBursts(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		policy := retry.New(backoff.Linear(ms), retry.Limit(3), retry.ResetAfterItems(1))
		n := 0
		src := stream.Defer(func(context.Context) text {
			n++
			switch {
			case n > 30:
				return stream.Of("z")
			case n%3 == 0: // the third attempt of a burst delivers a value and fails, which begins the next burst
				return stream.Of("a").Concat(stream.Fail[string](errBoom))
			}
			return stream.Fail[string](errBoom)
		})
		var got []time.Duration
		err := src.RetryWhen(policy).ForEach(s.Context(), func(string) { got = append(got, s.Elapsed()/ms) })
		// Waits of 1 and 2 to the first value, then of 1, 2 and 3 from each to the next; the last one needs only 1.
		if want := []time.Duration{3, 9, 15, 21, 27, 33, 39, 45, 51, 57, 58}; err != nil || !slices.Equal(got, want) {
			t.Errorf("values at %v ms, %v, want %v", got, err, want)
		}
	})
}

// An attempt that ran long enough restarts the count, although it delivered nothing. A shorter one does not. RxJava,
// RxJS and Reactor have no such option.
func TestPolicy_ResetWhenTheAttemptLivedLongEnough(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		policy := retry.New(backoff.Linear(10*ms), retry.Limit(2), retry.ResetAfter(5*ms))
		src := streamtest.Cold[string](s, `
			----#
			-----#
			#
			----#`)
		streamtest.Expect(s, src.RetryWhen(policy)).Error(retry.ErrExhausted).
			ToBe("4ms 10ms 5ms 10ms 20ms 4ms #")
		src.Subscriptions("^---!", "14ms ^----!", "29ms (^!)", "49ms ^---!")
	})
}

// Reactor: maxInARow. If values restart the count, the limit is for the retries in a row, not for all retries. RxJS'
// count with resetOnSuccess does the same. RxJava counts all.
func TestPolicy_LimitCountsInARow(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := func() text { return streamtest.Cold[string](s, "a#\n#\nb#\n#\nc#\n#\n#\n#").Stream }
		row := constant(0, retry.Limit(2), retry.ResetAfterItems(1))
		streamtest.Expect(s, src().RetryWhen(row)).Error(retry.ErrExhausted).ToBe("abc#")
		all := constant(0, retry.Limit(2))
		streamtest.Expect(s, src().RetryWhen(all)).Error(retry.ErrExhausted).ToBe("ab#")
	})
}

// An error that says when to return (Retry-After) dictates the delay, whatever the curve is. Jitter only adds to it. In
// RxJava, RxJS and Reactor this needs a custom notifier.
func TestPolicy_ErrorDictatesTheDelay(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		busy := retry.RetryAfter(errBoom, 20*ms)
		src := streamtest.Cold[string](s, "a#\nb#\nc#\nd|").Errors(busy, errBoom, retry.RetryAfter(errBoom, -1))
		streamtest.Expect(s, src.RetryWhen(constant(5*ms))).ToBe("a 20ms b-----c-----d|")
		b := backoff.Constant(time.Hour).Jitter(jitter.Default)
		src = streamtest.Cold[string](s, "a#\nb#\nc|").Errors(busy)
		policy := retry.New(b, retry.WithRand(s.Rand(0, 0.5)))
		var at []time.Duration
		start := s.Elapsed()
		_ = src.RetryWhen(policy).ForEach(s.Context(), func(string) { at = append(at, s.Elapsed()-start) })
		if want := []time.Duration{0, 21 * ms, 43*ms + ms/2}; !slices.Equal(at, want) { // 1 ms and 20, 1 ms and 21.5
			t.Errorf("values at %v, want %v", at, want)
		}
	})
}

// The delay that an error dictates has bounds. If it is too long, the policy gives up, because an earlier return would
// fail. Jitter is spread over at most half of the room that is left. RxJava, RxJS and Reactor have no counterpart.
func TestPolicy_DictatedDelaysHaveBounds(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := func(d time.Duration) text {
			return streamtest.Cold[string](s, "#\na|").Errors(retry.RetryAfter(errBoom, d)).Stream
		}
		patient := constant(ms, retry.MaxRetryAfter(20*ms))
		streamtest.Expect(s, src(20*ms).RetryWhen(patient)).ToBe("20ms a|")
		streamtest.Expect(s, src(20*ms+1).RetryWhen(patient)).Error(retry.ErrExhausted).ToBe("#")

		within := retry.New(backoff.Constant(ms).Jitter(jitter.Default), retry.Within(22*ms), retry.WithRand(s.Rand(0.5, 0.5)))
		streamtest.Expect(s, src(20*ms).RetryWhen(within)).ToBe("20.5ms a|")
		streamtest.Expect(s, src(22*ms+1).RetryWhen(within)).Error(retry.ErrExhausted).ToBe("#")
	})
}

// A wait that would exceed the context's deadline does not begin: the error comes at once. In RxJava, RxJS and Reactor
// a timeout after the retry waits to its end.
func TestPolicy_RefusesAWaitPastTheDeadline(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		ctx, cancel := context.WithTimeout(s.Context(), 20*ms)
		defer cancel()
		src := streamtest.Cold[string](s, "-#")
		_, err := src.RetryWhen(retry.New(backoff.Linear(10 * ms))).Collect(ctx)
		for _, want := range []error{retry.ErrDeadline, context.DeadlineExceeded, streamtest.ErrDiagram} {
			if !errors.Is(err, want) {
				t.Errorf("got %v, which is not %v", err, want)
			}
		}
		src.Subscriptions("^!", "11ms ^!")
		if s.Elapsed() != 12*ms {
			t.Errorf("it took %v", s.Elapsed())
		}
	})
}

// A budget that a hundred streams share limits the sum of their retries. RxJava, RxJS and Reactor have no counterpart.
func TestPolicy_BudgetSharedByAHundredStreams(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		budget := retry.NewBudget(30, 1, 0.5)
		policy := retry.New(backoff.Linear(ms).Jitter(jitter.Full), retry.WithBudget(budget))
		var tries, spent atomic.Int64
		done := make(chan struct{})
		for range 100 {
			go func() {
				defer func() { done <- struct{}{} }()
				src := stream.FromFunc(func(context.Context) (int, error) { tries.Add(1); return 0, errBoom })
				if _, err := src.RetryWhen(policy).Collect(s.Context()); errors.Is(err, retry.ErrBudget) && errors.Is(err, errBoom) {
					spent.Add(1)
				}
			}()
		}
		for range 100 {
			<-done
		}
		if tries.Load() != 130 || spent.Load() != 100 || budget.Tokens() != 0 {
			t.Errorf("%d attempts, %d gave up for the budget, which has %v left; want 130, 100, 0", tries.Load(), spent.Load(), budget.Tokens())
		}
		for range 4 { // a success refunds half of a retry's cost
			_, _ = stream.Of(1).RetryWhen(policy).Collect(s.Context())
		}
		if budget.Tokens() != 2 {
			t.Errorf("after four successes it has %v, want 2", budget.Tokens())
		}
	})
}

// One policy value serves any number of subscribers, each with its own count. Reactor's Retry specs do the same. RxJS
// and RxJava have no such value.
func TestPolicy_IsSharedWithoutState(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		policy := retry.New(backoff.Quadratic(ms), retry.Limit(3))
		var all []*streamtest.Expectation[string]
		for range 5 {
			all = append(all, streamtest.Expect(s, streamtest.Cold[string](s, "#").RetryWhen(policy)).Error(retry.ErrExhausted))
		}
		for _, e := range all {
			e.ToBe("--------------#")
		}
	})
}

// Overflow: a curve that would exceed the longest Duration ends there or at the cap. It never becomes negative or 0.
// Reactor handles the overflow too and uses maxBackoff. In RxJava and RxJS the user computes the delays.
func TestPolicy_OverflowingDelays(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		for name, b := range map[string]backoff.Backoff{
			"exponential": backoff.Exponential(math.MaxInt64/2, 1e300),
			"quadratic":   backoff.Quadratic(math.MaxInt64),
			"polynomial":  backoff.Polynomial(math.MaxInt64, 1e6),
			"fibonacci":   backoff.Fibonacci(math.MaxInt64),
			"plus":        backoff.Constant(math.MaxInt64).Plus(math.MaxInt64),
			"jitter":      backoff.Constant(math.MaxInt64).Jitter(jitter.Uniform(1, 1e300)),
		} {
			expectWaits(t, waits(s, retry.New(b.Cap(3*ms).Jitter(jitter.None)), 3), 3*ms, 3*ms, 3*ms)
			if t.Failed() {
				t.Fatal(name)
			}
			// Without a cap the wait is the longest Duration, which can be cancelled like any other.
			ctx, cancel := context.WithCancelCause(s.Context())
			time.AfterFunc(time.Hour, func() { cancel(errCause) })
			src := streamtest.Probe(s, stream.Fail[string](errBoom))
			_, err := src.RetryWhen(retry.New(b).With(retry.WithRand(func() float64 { return 0 }))).Collect(ctx)
			if !errors.Is(err, errCause) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// NaN and infinity: refused when a backoff or a jitter is made, and harmless when a user's function returns them later.
// Reactor checks its jitter factor. RxJava and RxJS have none.
func TestPolicy_NaNAndInfinity(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		for name, f := range map[string]func(){
			"factor NaN":      func() { backoff.Exponential(ms, math.NaN()) },
			"factor infinite": func() { backoff.Exponential(ms, math.Inf(1)) },
			"degree NaN":      func() { backoff.Polynomial(ms, math.NaN()) },
			"deviation NaN":   func() { jitter.Deviation(math.NaN()) },
			"uniform":         func() { jitter.Uniform(0, math.Inf(1)) },
			"Factor(1)":       func() { backoff.Constant(ms).Jitter(jitter.Func(func(u float64) float64 { return math.Log(1 - u) })) },
			"budget":          func() { retry.NewBudget(math.NaN(), 1, 1) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				f()
			}()
		}
		wild := jitter.Func(func(u float64) float64 {
			switch {
			case u == 0 || u == 1:
				return 1
			case u < 0.5:
				return math.NaN()
			case u < 0.7:
				return math.Inf(-1)
			}
			return math.Inf(1)
		})
		policy := retry.New(backoff.Constant(5*ms).Jitter(wild), retry.WithRand(s.Rand(0.1, 0.6, 0.9)))
		expectWaits(t, waits(s, policy, 3), 0, 0, 5*ms)
		for _, u := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 2} {
			policy := retry.New(backoff.Constant(4*ms).Jitter(jitter.Full), retry.WithRand(func() float64 { return u }))
			for _, d := range waits(s, policy, 2) {
				if d < 0 || d > 4*ms {
					t.Errorf("a draw of %v makes a wait of %v", u, d)
				}
			}
		}
	})
}
