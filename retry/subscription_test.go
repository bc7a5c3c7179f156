package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// answers is a handler that makes its answers of all failures.
func answers(f func(all failures) failures) stream.RetryHandler { return stream.RetryHandlerFunc(f) }

// after is a stream that begins later.
func after(d time.Duration, s failures) failures {
	return operators.ConcatMap(stream.Timer(d), func(time.Time) failures { return s })
}

// everySecond answers n failures, one each second, whatever they are.
func everySecond(n int) failures {
	return operators.Map(stream.Interval(time.Second).Take(n), func(time.Time) stream.Failure { return stream.Failure{} })
}

// What a policy reports if something else in the handler answers before it does.
func TestSubscription_SomethingElseAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(retry.Policy) func(failures) failures
		feed    stream.Stream[int]
		want    string
	}{
		"before Handle first runs": {
			func(p retry.Policy) func(failures) failures {
				return func(all failures) failures { return everySecond(3).Merge(after(3500*time.Millisecond, p.Handle(all))) }
			}, feedOf(0, 0, 0, 0, 1),
			`3.5s attempt 4: failure 4 in 0s
3.5s down: failure 4
3.5s retry 1
1h0m4.5s over
1h0m4.5s recovered
1h0m4.5s attempt 5: <nil> in 1h0m0s
1h0m4.5s done 5`,
		},
		"before Handle decides, and it works": {
			func(p retry.Policy) func(failures) failures {
				return func(all failures) failures { return everySecond(1).Merge(p.Handle(all.Delay(time.Hour + time.Minute))) }
			}, feedOf(0, 2),
			"",
		},
		"before Handle decides, and it fails again": {
			func(p retry.Policy) func(failures) failures {
				return func(all failures) failures { return everySecond(1).Merge(p.Handle(all.Delay(3 * time.Second))) }
			}, feedOf(0, 0, 0),
			`6s attempt 2: failure 2 in 0s
6s down: failure 2
6s retry 1
7s attempt 3: <nil> in 0s
7s over
7s recovered
7s done 3`,
		},
		"in the wait": {
			func(p retry.Policy) func(failures) failures {
				return func(all failures) failures {
					return after(100*time.Millisecond, everySecond(1)).Merge(p.With(retry.Limit(1)).Handle(all))
				}
			}, feedOf(0, 0),
			`0s attempt 1: failure 1 in 0s
0s down: failure 1
0s retry 1
1s attempt 2: <nil> in 0s
1s over
1s recovered
1s done 2`,
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var o outages
			p := every(time.Second, o.options()...)
			if err := c.feed.RetryWhen(answers(c.handler(p))).ForEach(t.Context(), func(int) {}); err != nil {
				t.Error(err)
			}
			if got := strings.Join(o.lines, "\n"); got != c.want || o.down != 0 {
				t.Errorf("%d outages are not over; got\n%s\nwant\n%s", o.down, got, c.want)
			}
		})
	}
}

// Failures without a number, which a handler has made anew, are those of the subscription; outside of RetryWhen each is
// one.
func TestSubscription_FailuresMadeAnew(t *testing.T) {
	bubble(t, "in RetryWhen", func(t *testing.T) {
		attempts := 0
		p := every(time.Second, retry.Limit(2), retry.OnAttempt(func(context.Context, retry.AttemptEnd) { attempts++ }))
		_, err := stream.Fail[int](errBoom).RetryWhen(answers(func(all failures) failures {
			return p.Handle(operators.Map(all, func(f stream.Failure) stream.Failure {
				return stream.Failure{Err: retry.RetryAfter(fmt.Errorf("wrapped: %w", f.Err), time.Minute)}
			}))
		})).Collect(t.Context())
		if gaveUp(t, err, retry.ErrLimit, 3, 2*time.Minute); attempts != 3 || !strings.Contains(err.Error(), "wrapped: boom") {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
	bubble(t, "outside", func(t *testing.T) {
		n := 0
		err := every(time.Second, retry.Limit(2)).Handle(stream.Of(stream.Failure{Err: errBoom}).Repeat(5)).
			ForEach(t.Context(), func(stream.Failure) { n++ })
		if gaveUp(t, err, retry.ErrLimit, 3, 2*time.Second); n != 2 {
			t.Errorf("%d answers", n)
		}
	})
}

// Two policies in one handler are two operations, each with all attempts.
func TestSubscription_TwoPolicies(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var first, second outages
		quick, slow := every(time.Second, first.options()...).With(retry.Limit(1)), every(time.Minute, second.options()...)
		handler := answers(func(all failures) failures {
			return quick.Handle(all).Catch(func(error) failures { return slow.Handle(all) })
		})
		if err := feedOf(0, 0, 0).RetryWhen(handler).ForEach(t.Context(), func(int) {}); err != nil {
			t.Error(err)
		}
		last := func(lines []string) string { return lines[len(lines)-1] }
		if last(first.lines) != "1m1s done 3" || last(second.lines) != "1m1s done 3" || first.down+second.down != 0 {
			t.Errorf("got\n%s\nand\n%s", strings.Join(first.lines, "\n"), strings.Join(second.lines, "\n"))
		}
	})
}

// Every attempt is reported once, in order, though the failures, the decisions and the signs of life are on three
// goroutines, whose hooks wait.
func TestSubscription_Goroutines(t *testing.T) {
	const n = 600
	bubble(t, "", func(t *testing.T) {
		var attempts, outages []int
		inHook, source := false, 0
		hook := func() {
			if inHook {
				t.Error("two hooks at once")
			}
			inHook = true
			time.Sleep(time.Millisecond)
			inHook = false
		}
		budget := retry.NewBudget(n, 1, 1)
		p := every(0, retry.WithBudget(budget), retry.OnRetry(func(context.Context, retry.Event) { hook() }),
			retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { hook(); attempts = append(attempts, a.N) }),
			retry.OnRecovered(func(_ context.Context, r retry.Recovery) { hook(); outages = append(outages, r.Retries) }))
		feed := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			if source++; source == n {
				return nil
			}
			if source%3 == 0 {
				heartbeats := func(ctx context.Context, _ func(int) bool) error { stream.Works(ctx); return nil }
				_ = stream.Stream[int](heartbeats).Merge(heartbeats)(ctx, yield)
			}
			if source%2 == 0 && !yield(source) {
				return nil
			}
			return errBoom
		})
		err := feed.RetryWhen(answers(func(all failures) failures {
			return p.Handle(all).Merge(p.Handle(all), all.Delay(3*time.Millisecond))
		})).ForEach(t.Context(), func(int) {
			if inHook {
				t.Error("a value while a hook runs")
			}
		})
		want := make([]int, n)
		for i := range want {
			want[i] = i + 1
		}
		retries := 0
		for _, r := range outages {
			retries += r
		}
		if err != nil || !slices.Equal(attempts, want) || retries != n-1 {
			t.Errorf("%v, %d attempts, outages of %d retries", err, len(attempts), retries)
		}
	})
}

// A panic ends the outage of every policy of the handler, also if the policy's answers come from another goroutine.
func TestSubscription_Panic(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var o outages
		p := every(time.Second, o.options()...)
		n := 0
		s := stream.Stream[int](func(context.Context, func(int) bool) error {
			if n++; n == 2 {
				panic("source")
			}
			return errBoom
		})
		check.Panics(t, "source", func() {
			_ = s.RetryWhen(answers(func(all failures) failures { return p.Handle(all).Merge(stream.Never[stream.Failure]()) })).
				ForEach(t.Context(), func(int) {})
		})
		want := "0s attempt 1: boom in 0s\n0s down: boom\n0s retry 1\n1s over"
		if got := strings.Join(o.lines, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// The error of a cancelled attempt is its own, in OnAttempt.
func TestAttemptEnd_OwnError(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("late"))
		defer cancel()
		var last retry.AttemptEnd
		p := every(time.Second, retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { last = a }))
		n := 0
		_ = stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			if n++; n == 1 {
				return stream.ErrTimeout
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}).RetryWhen(p).ForEach(ctx, func(int) {})
		if last.N != 2 || last.Err != context.Cause(ctx) || last.Lasted != 9*time.Second {
			t.Errorf("got %+v", last)
		}
	})
}

// ownClock is a clock of the policy's own.
type ownClock struct{}

func (ownClock) Now() time.Time                                  { return time.Now() }
func (ownClock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// fastClock is a clock of the policy's own on which ten seconds pass in one of the bubble.
type fastClock struct{ begun time.Time }

func (c fastClock) Now() time.Time { return c.begun.Add(10 * time.Since(c.begun)) }

func (c fastClock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d/10, f) }

// A policy in a function measures attempts on its own clock, from its answer to the failure or the end.
func TestSubscription_MeasuresOnThePolicysClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lasted []time.Duration
		p := every(0, retry.WithClock(fastClock{time.Now()}), retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
			lasted = append(lasted, a.Lasted)
		}))
		began := 0
		source := stream.Stream[int](func(context.Context, func(int) bool) error {
			time.Sleep(time.Second)
			if began++; began < 3 {
				return errBoom
			}
			return nil
		})
		err := source.RetryWhen(answers(p.Handle)).ForEach(t.Context(), func(int) {})
		if want := []time.Duration{time.Second, 10 * time.Second, 10 * time.Second}; err != nil || !slices.Equal(lasted, want) {
			t.Errorf("%v; the attempts lasted %v, want %v", err, lasted, want)
		}
	})
}

// Two runs of Handle's stream, on goroutines of their own, measure an attempt on the policy's clock: without the lock
// the race detector sees them.
func TestSubscription_TwoRunsMeasure(t *testing.T) {
	p := every(0, retry.WithClock(ownClock{}), retry.ResetAfter(time.Hour), retry.Limit(50))
	err := stream.Fail[int](errBoom).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
		return p.Handle(all).Merge(p.Handle(all))
	})).ForEach(t.Context(), func(int) {})
	if e, ok := errors.AsType[*retry.Error](err); !ok || e.Attempts != 51 {
		t.Error(err)
	}
}

// The end of a subscription waits for the hooks of a Works that has begun.
func TestSubscription_TheEndWaitsForWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		p := every(0, retry.OnRecovered(func(context.Context, retry.Recovery) {
			time.Sleep(time.Second)
			notes = append(notes, "recovered")
		}), retry.OnDone(func(context.Context, retry.Result) { notes = append(notes, "done") }))
		attempts := 0
		_ = stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			if attempts++; attempts == 1 {
				return errBoom
			}
			go stream.Works(ctx)
			time.Sleep(time.Millisecond)
			return nil
		}).RetryWhen(p).ForEach(t.Context(), func(int) {})
		if want := []string{"recovered", "done"}; !slices.Equal(notes, want) {
			t.Errorf("%v, want %v", notes, want)
		}
	})
}

// slow is a context whose Err takes a second, once.
type slow struct {
	context.Context
	next atomic.Bool
}

func (c *slow) Err() error {
	if c.next.Swap(false) {
		time.Sleep(time.Second)
	}
	return c.Context.Err()
}

// An attempt that ends while a Works has begun, but not ended the outage yet, does not end with an older failure.
func TestSubscription_AnAttemptEndsAmidWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recovered, attempts := 0, 0
		p := every(0, retry.OnRecovered(func(context.Context, retry.Recovery) { recovered++ }))
		subscriber := &slow{Context: t.Context()}
		err := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			if attempts++; attempts == 1 {
				return errBoom
			}
			go func() {
				subscriber.next.Store(true)
				stream.Works(ctx)
			}()
			time.Sleep(time.Millisecond)
			return stream.ErrNotRestartable
		}).RetryWhen(p).ForEach(subscriber, func(int) {})
		if errors.Is(err, errBoom) || !errors.Is(err, stream.ErrNotRestartable) || recovered != 1 {
			t.Errorf("recovered %d times, then %v; want once, and no failure from before", recovered, err)
		}
	})
}

// A run of Handle's stream that is kept beyond its subscription ends.
func TestHandle_RunAgainAfterTheEnd(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var kept failures
		var ctx context.Context
		p := every(0, retry.Limit(1))
		_ = stream.Fail[int](errBoom).RetryWhen(answers(func(all failures) failures {
			kept = p.Handle(all)
			return func(c context.Context, yield func(stream.Failure) bool) error { ctx = c; return kept(c, yield) }
		})).ForEach(t.Context(), func(int) {})
		for range 2 {
			if err := kept.ForEach(ctx, func(stream.Failure) { t.Error("an answer") }); err != nil {
				t.Error(err)
			}
		}
		own := p.Handle(stream.Of(stream.Failure{Err: errBoom, N: 2}, stream.Failure{Err: errBoom}))
		if err := own.ForEach(ctx, func(stream.Failure) { t.Error("an answer to a failure of nobody") }); err != nil {
			t.Error(err)
		}
	})
}
