package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// reports counts what hooks report, and has the budget's tokens at the end.
type reports struct {
	attempts                   []int
	works                      []int
	lasted                     []time.Duration
	outages, recovered, gaveUp int
	elapsed, recovery          time.Duration
	done                       []retry.Result
}

func (r *reports) options() []retry.Option {
	return []retry.Option{
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
			r.attempts, r.lasted = append(r.attempts, a.N), append(r.lasted, a.Lasted)
		}),
		retry.OnWorks(func(_ context.Context, n int) { r.works = append(r.works, n) }),
		retry.OnRetry(func(_ context.Context, e retry.Event) { r.elapsed = e.Elapsed }),
		retry.OnOutage(func(context.Context, error) func() { r.outages++; return nil }),
		retry.OnRecovered(func(_ context.Context, rec retry.Recovery) { r.recovered++; r.recovery = rec.Down }),
		retry.OnGiveUp(func(context.Context, *retry.Error) { r.gaveUp++ }),
		retry.OnDone(func(_ context.Context, d retry.Result) { r.done = append(r.done, d) }),
	}
}

// handlers are the ways to have a policy in a handler.
var handlers = map[string]func(p retry.Policy) stream.RetryHandler{
	"alone":   func(p retry.Policy) stream.RetryHandler { return p },
	"pointer": func(p retry.Policy) stream.RetryHandler { return &p },
	"Around": func(p retry.Policy) stream.RetryHandler {
		return p.Around(func(answers failures) failures { return answers })
	},
	"Around, on another goroutine": func(p retry.Policy) stream.RetryHandler {
		return p.Around(func(answers failures) failures { return answers.Merge(stream.Never[stream.Failure]()) })
	},
	"embedded":                            func(p retry.Policy) stream.RetryHandler { return struct{ retry.Policy }{p} },
	"embedded + With":                     func(p retry.Policy) stream.RetryHandler { return derives{p} },
	"embedded + a Handle that runs ahead": func(p retry.Policy) stream.RetryHandler { return runsAhead{p} },
	"function":                            func(p retry.Policy) stream.RetryHandler { return stream.RetryHandlerFunc(p.Handle) },
	"a function with Around": func(p retry.Policy) stream.RetryHandler {
		return answers(p.Around(func(answers failures) failures { return answers }).Handle)
	},
}

// runsAhead is a handler that embeds a policy, whose answers come from another goroutine.
type runsAhead struct{ retry.Policy }

func (r runsAhead) Handle(all failures) failures { return r.Policy.Handle(all).Buffer(1) }

// Whatever contains the policy, each attempt, recovery and end is reported once, and the budget counts once.
func TestHandlers_EachIsReportedOnce(t *testing.T) {
	for name, handler := range handlers {
		bubble(t, name, func(t *testing.T) {
			var r reports
			budget := retry.NewBudget(100, 1, 1)
			budget.Add(-50)
			p := every(time.Second, retry.WithBudget(budget)).With(r.options()...)
			err := feedOf(0, 0, 3).RetryWhen(handler(p)).ForEach(t.Context(), func(int) {})
			if err != nil || !slices.Equal(r.attempts, []int{1, 2, 3}) || !slices.Equal(r.works, []int{3}) || r.outages != 1 || r.recovered != 1 || budget.Tokens() != 51 {
				t.Errorf("%+v, %v tokens, %v", r, budget.Tokens(), err)
			}
			if want := (retry.Result{Attempts: 3, Retries: 2, Elapsed: 3*time.Hour + 2*time.Second}); !slices.Equal(r.done, []retry.Result{want}) {
				t.Errorf("done %+v, want %+v", r.done, want)
			}
		})
	}
}

// Two policies in one handler each take their retries from their budget, and refund it once.
func TestHandlers_TwoPoliciesOneBudget(t *testing.T) {
	for name, second := range map[string]func(*retry.Budget) *retry.Budget{
		"one budget": func(b *retry.Budget) *retry.Budget { return b },
		"two":        func(b *retry.Budget) *retry.Budget { return b.Clone() },
	} {
		bubble(t, name, func(t *testing.T) {
			first := retry.NewBudget(100, 1, 1)
			first.Add(-50)
			other := second(first)
			p, q := every(time.Second, retry.WithBudget(first)), every(time.Second, retry.WithBudget(other))
			_ = feedOf(0, 0, 3).RetryWhen(answers(func(all failures) failures {
				return p.Handle(all).Merge(q.Handle(all))
			})).ForEach(t.Context(), func(int) {})
			if want := map[bool]float64{true: 49, false: 51}[first == other]; first.Tokens() != want || other.Tokens() != want {
				t.Errorf("%v and %v tokens, want %v", first.Tokens(), other.Tokens(), want)
			}
		})
	}
}

// A policy that begins late has the numbers of the subscription, and nothing from before it.
func TestHandlers_Late(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(p retry.Policy, all failures) failures
		feed    stream.Stream[int]
		want    string
	}{
		"after five failures": {
			func(p retry.Policy, all failures) failures { return all.Take(5).Concat(p.Handle(all)) },
			feedOf(0, 0, 0, 0, 0, 0, 0, 1),
			"attempts [6 7 8], works [8], 1 recovered after 1h0m2s, done 8/2 in 1h0m2s",
		},
		"during an attempt that works": {
			func(p retry.Policy, all failures) failures {
				return all.Take(1).Merge(after(2*time.Hour, p.Handle(all)))
			},
			feedOf(0, 5, 0, 1),
			"attempts [2 3 4], works [4], 1 recovered after 1h0m2s, done 4/2 in 1h0m2s",
		},
		"never": {
			func(p retry.Policy, all failures) failures {
				return all.Take(1).Merge(after(2*time.Hour, p.Handle(all)))
			},
			feedOf(0, 5),
			"attempts [], works [], 0 recovered after 0s, done none",
		},
		"something else answers in between": {
			func(p retry.Policy, all failures) failures {
				return p.Handle(all.Take(1)).Merge(all.Skip(1).Delay(time.Second))
			},
			feedOf(0, 0, 1),
			"attempts [1 3], works [3], 1 recovered after 1h0m2s, done 3/1 in 1h0m2s",
		},
		"it sees each failure too late, but the last": {
			func(p retry.Policy, all failures) failures {
				return everySecond(2).Merge(p.Handle(all.Delay(1500 * time.Millisecond)))
			},
			feedOf(0, 0, 0, 1),
			"attempts [3 4], works [4], 1 recovered after 1h0m1s, done 4/1 in 1h0m1s",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var r reports
			p := every(time.Second, r.options()...)
			if err := c.feed.RetryWhen(answers(func(all failures) failures { return c.handler(p, all) })).ForEach(t.Context(), func(int) {}); err != nil {
				t.Error(err)
			}
			done := "none"
			for _, d := range r.done {
				done = fmt.Sprintf("%d/%d in %v", d.Attempts, d.Retries, d.Elapsed)
			}
			got := fmt.Sprintf("attempts %v, works %v, %d recovered after %v, done %s", r.attempts, r.works, r.recovered, r.recovery, done)
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Beside something else that answers, a policy with a clock of its own measures an attempt from its beginning.
func TestHandlers_WithClockAndMerge(t *testing.T) {
	for name, c := range map[string][]retry.Option{"system": nil, "own clock": {retry.WithClock(ownClock{})}} {
		bubble(t, name, func(t *testing.T) {
			var r reports
			p := every(time.Hour, retry.Limit(1), retry.ResetAfter(50*time.Minute)).With(c...).With(r.options()...)
			err := feedOf(0, 2, 0, 0).RetryWhen(answers(func(all failures) failures {
				soon := operators.SwitchMap(all.Take(1), func(f stream.Failure) failures { return stream.Of(f).Delay(time.Second) })
				return p.Handle(all).Merge(soon)
			})).ForEach(t.Context(), func(int) {})
			// The signal answers failure 1 after a second. The second attempt lasts two hours, so its failure is the
			// first of the count.
			if !errors.Is(err, retry.ErrLimit) || !slices.Equal(r.lasted, []time.Duration{0, 2 * time.Hour, 0}) {
				t.Errorf("attempts lasted %v; %v", r.lasted, err)
			}
		})
	}
}

// Around's function decides which of the answers count.
func TestAround(t *testing.T) {
	done := make(chan struct{})
	for name, c := range map[string]struct {
		f    func(failures) failures
		want string
	}{
		"Take": {func(a failures) failures { return a.Take(1) },
			"attempts [1 2], 1 outages, 0 gave up, done 2/1 in 1s: failure 2; failure 2"},
		"Delay": {func(a failures) failures { return a.Delay(time.Second) },
			"attempts [1 2 3], 1 outages, 1 gave up, done 3/2 in 4s: limit; limit"},
		"TakeUntilDone": {func(a failures) failures { return a.TakeUntilDone(done) },
			"attempts [1 2], 1 outages, 0 gave up, done 2/1 in 1.5s: failure 2; failure 2"},
		"a signal that bears the number": {func(a failures) failures {
			return a.Merge(stream.Of(stream.Failure{N: 1}).Delay(100 * time.Millisecond))
		}, "attempts [1 2 3], 1 outages, 1 gave up, done 3/2 in 2s: limit; limit"},
		"a nil stream": {func(failures) failures { return nil },
			"attempts [1], 0 outages, 0 gave up, done 1/0 in 0s: nil stream; nil stream"},
	} {
		bubble(t, name, func(t *testing.T) {
			text := func(err error) string {
				switch {
				case errors.Is(err, retry.ErrLimit):
					return "limit"
				case err != nil && len(err.Error()) > 20:
					return "nil stream"
				}
				return fmt.Sprint(err)
			}
			if done = make(chan struct{}); name == "TakeUntilDone" {
				time.AfterFunc(1500*time.Millisecond, func() { close(done) })
			}
			var r reports
			calls := 0
			p := every(time.Second, retry.Limit(2)).With(r.options()...)
			err := feedOf(0, 0, 0, 0).RetryWhen(p.Around(func(a failures) failures { calls++; return c.f(a) })).ForEach(t.Context(), func(int) {})
			var got strings.Builder
			got.WriteString(fmt.Sprintf("attempts %v, %d outages, %d gave up, done", r.attempts, r.outages, r.gaveUp))
			for _, d := range r.done {
				got.WriteString(fmt.Sprintf(" %d/%d in %v: %s", d.Attempts, d.Retries, d.Elapsed, text(d.Err)))
			}
			if got.WriteString("; " + text(err)); got.String() != c.want || calls != 1 {
				t.Errorf("%d calls; got\n%s\nwant\n%s", calls, got.String(), c.want)
			}
		})
	}
}

// The handler that Around returns has the policy's name and clock, and its answers are the whole failures.
func TestAround_NameClockAndAnswers(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var got []stream.Failure
		clock := &countingClock{}
		p := every(0, retry.Limit(2), retry.Name("prices"), retry.WithClock(clock))
		h := p.Around(func(a failures) failures { return a.Tap(func(f stream.Failure) { got = append(got, f) }) })
		err := feedOf(1, 0, 2).Concat(stream.Never[int]()).Timeout(3*time.Hour).RetryWhen(h).ForEach(t.Context(), func(int) {})
		if want := "prices: nothing came for 3h0m0s"; err == nil || !errors.Is(err, stream.ErrTimeout) || clock.reads == 0 {
			t.Errorf("%v, want …%s; the clock was read %d times", err, want, clock.reads)
		}
		if len(got) != 2 || got[0].N != 1 || got[0].Items != 1 || got[0].Lasted != time.Hour || got[0].Err == nil || got[1].N != 2 {
			t.Errorf("answers %+v", got)
		}
	})
}

func TestAround_ANilFunctionPanics(t *testing.T) {
	check.Panics(t, "retry: Policy.Around: f is nil", func() { every(0).Around(nil) })
}

// A policy in a function counts the attempt whose failure it does not receive, because the handler has ended.
func TestHandlers_TheHandlerEndsBefore(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var r reports
		p := every(time.Second, r.options()...)
		err := feedOf(0, 0, 0).RetryWhen(answers(func(all failures) failures { return p.Handle(all).Take(1) })).ForEach(t.Context(), func(int) {})
		if want := (retry.Result{Err: err, Attempts: 2, Retries: 1, Elapsed: time.Second}); err == nil || !slices.Equal(r.attempts, []int{1}) || !slices.Equal(r.done, []retry.Result{want}) {
			t.Errorf("attempts %v, done %+v, want %+v", r.attempts, r.done, want)
		}
	})
}

// A hook that ends the context prevents the decision about a retry.
func TestHandlers_AHookEndsTheContext(t *testing.T) {
	for name, handler := range handlers {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := every(time.Second, retry.OnRetry(func(context.Context, retry.Event) { t.Error("OnRetry") }),
				retry.OnAttempt(func(context.Context, retry.AttemptEnd) { cancel() }))
			err := feedOf(0, 0, 0).RetryWhen(handler(p)).ForEach(ctx, func(int) {})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}
