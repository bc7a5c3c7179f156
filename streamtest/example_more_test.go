package streamtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// A source as a marble diagram, a policy, and the expected result.
func ExampleRun() {
	check.GoTest("TestReconnect", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			feed := streamtest.Cold[string](s, `
				--a--#
				--b--|`)
			policy := operators.ExpBackoff(jitter.None, 10*time.Millisecond, 3)
			streamtest.Expect(s, feed.RetryWhen(policy)).ToBe("--a-- 10ms --b--|")
		})
	})
	// Output: TestReconnect passed: true
}

// A source that is run twice, with the times of the runs.
func ExampleCold() {
	check.GoTest("TestRetryRunsItTwice", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			src := streamtest.Cold[string](s, "--a--#")
			streamtest.Expect(s, src.Retry(1)).ToBe("--a----a--#")
			src.Subscriptions("^----!", "-----^----!")
		})
	})
	// Output: TestRetryRunsItTwice passed: true
}

// Values of any type, and errors.
func ExampleColdWith() {
	check.GoTest("TestAccounts", func(t *testing.T) {
		type account struct{ balance int }
		values := map[string]account{"a": {100}, "b": {-1}}
		errOverdrawn := errors.New("overdrawn")
		streamtest.Run(t, func(s *streamtest.Session) {
			accounts := streamtest.ColdWith(s, "-a-b-#", values).Errors(errOverdrawn)
			streamtest.Expect(s, accounts.Stream).Error(errOverdrawn).ToBeWith("-a-b-#", values)
		})
	})
	// Output: TestAccounts passed: true
}

// Two subscribers of a hot source: the second one misses what came before.
func ExampleHot() {
	check.GoTest("TestLate", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			prices := streamtest.Hot[int](s, "-1-2-3-|")
			early := streamtest.Expect(s, prices.Stream)
			late := streamtest.ExpectDuring(s, prices.Stream, "---^-!")
			early.ToBe("-1-2-3-|")
			late.ToBe("---2--")
			prices.Subscriptions("^------!", "---^-!")
		})
	})
	// Output: TestLate passed: true
}

func ExampleHotWith() {
	check.GoTest("TestSum", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			values := map[string]float64{"a": 1.5, "b": 2, "c": 3.5}
			prices := streamtest.HotWith(s, "-a-b|", values)
			sum := operators.Reduce(prices.Stream, 0, func(a, b float64) float64 { return a + b })
			streamtest.Expect(s, sum).ToBeWith("----(c|)", values)
		})
	})
	// Output: TestSum passed: true
}

// A stream that is not made from a diagram.
func ExampleProbe() {
	check.GoTest("TestTake", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			ticks := streamtest.Probe(s, stream.Interval(2*time.Millisecond))
			streamtest.Watch(s, ticks.Take(1)).Next(time.Now().Add(2 * time.Millisecond)).End()
			ticks.Subscriptions("^-!")
		})
	})
	// Output: TestTake passed: true
}

// Step by step instead of with a diagram: this is better for waits of seconds and hours.
func ExampleWatch() {
	check.GoTest("TestHourly", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			errDown := errors.New("down")
			src := stream.Of(1, 2).Concat(stream.Fail[int](errDown))
			policy := retry.New(backoff.Constant(time.Hour), retry.Limit(1))
			streamtest.Watch(s, src.RetryWhen(policy)).
				Next(1).
				Next(2).
				NoEvent(time.Hour).
				Next(1).
				Next(2).
				Error(errDown)
			if s.Elapsed() != time.Hour {
				s.T().Errorf("it took %v", s.Elapsed())
			}
			streamtest.Watch(s, stream.Empty[int]()).End()
		})
	})
	// Output: TestHourly passed: true
}

// Events that no step has checked fail the test, unless Rest takes them.
func ExampleWatcher_Rest() {
	check.GoTest("TestRest", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			rest, err := streamtest.Watch(s, stream.Range(1, 5)).Next(1).Next(2).Rest()
			fmt.Println(rest, err)
		})
	})
	// Output:
	// [3 4 5] <nil>
	// TestRest passed: true
}

// Code without a stream: run it on a goroutine, and move time.
func ExampleSession_Advance() {
	check.GoTest("TestCall", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			policy := retry.New(backoff.Exponential(time.Second, 2).Jitter(jitter.Full), retry.WithRand(s.Rand(0.5, 0.25)))
			calls := 0
			go retry.Run(s.Context(), policy, func(context.Context) error {
				if calls++; calls < 3 {
					return errors.New("busy")
				}
				return nil
			})
			for _, d := range []time.Duration{0, 499 * time.Millisecond, time.Millisecond, 500 * time.Millisecond} {
				s.Advance(d)
				fmt.Println(s.Elapsed(), "calls", calls)
			}
		})
	})
	// Output:
	// 0s calls 1
	// 499ms calls 1
	// 500ms calls 2
	// 1s calls 3
	// TestCall passed: true
}

// Timers that are due at one instant fire in the order armed. The bubble's own timers, including benbjohnson's, fire in
// any order.
func ExampleSession_Clock() {
	check.GoTest("TestClocks", func(t *testing.T) {
		streamtest.Run(t, func(s *streamtest.Session) {
			for n := range 3 {
				s.Clock().AfterFunc(time.Minute, func() { fmt.Println("armed as number", n) })
			}
			minute := clock.New().After(time.Minute)
			s.Advance(59 * time.Second)
			fmt.Println("a second to go")
			s.Advance(time.Second)
			fmt.Println(s.Clock().Now().Equal(<-minute))
		})
	})
	// Output:
	// a second to go
	// armed as number 0
	// armed as number 1
	// armed as number 2
	// true
	// TestClocks passed: true
}

// A custom operator, over several kinds of sources.
func ExampleCheck() {
	pairs := func(s stream.Stream[int]) stream.Stream[int] {
		return operators.ConcatMap(s, func(v int) stream.Stream[int] { return stream.Of(v, v) })
	}
	check.GoTest("TestPairs", func(t *testing.T) {
		streamtest.Check(t, func() stream.Stream[int] { return pairs(stream.Range(0, 10)) })
		streamtest.Check(t, func() stream.Stream[int] { return pairs(stream.Of(1).Delay(time.Second)) })
		streamtest.Check(t, func() stream.Stream[int] { return pairs(stream.Fail[int](errors.New("down"))) })
	})
	// Output: TestPairs passed: true
}

// Without a bubble, the test waits for exactly the wait that it ends.
func ExampleClock() {
	ctx := context.Background()
	c := streamtest.NewClock()
	attempts := 0
	src := stream.Defer(func(context.Context) stream.Stream[int] {
		if attempts++; attempts < 3 {
			return stream.Fail[int](errors.New("busy"))
		}
		return stream.Of(attempts)
	})
	policy := retry.New(backoff.Linear(time.Hour), retry.Limit(5))
	values, errs := src.RetryWhen(policy).Chans(stream.WithClock(ctx, c), 0)

	began := c.Now()
	first, _ := c.AdvanceToNext(ctx)
	fmt.Println("waited", first.Delay)
	second, _ := c.Armed(ctx) // or wait for it first, and end it later
	fmt.Println("will wait", second.Delay)
	c.Advance(second)
	fmt.Println(<-values, <-errs, c.Now().Sub(began))

	timer := c.AfterFunc(time.Minute, func() { fmt.Println("too late") })
	fmt.Println("stopped:", timer.Stop())
	// Output:
	// waited 1h0m0s
	// will wait 2h0m0s
	// 3 <nil> 3h0m0s
	// stopped: true
}

// The same checks as Check over a table of sources, and checks that need a special source.
func ExampleCheckOperator() {
	check.GoTest("TestLatest", func(t *testing.T) {
		streamtest.CheckOperator(t, streamtest.Operator[int, int]{
			Apply:  func(src stream.Stream[int]) stream.Stream[int] { return src.Debounce(3 * time.Millisecond) },
			Values: []int{1, 2, 3},
			Ahead:  1, // one value waits until it is known to be the last
		})
	})
	// Output: TestLatest passed: true
}
