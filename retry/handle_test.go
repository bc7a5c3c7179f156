package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// bursts is a feed that delivers the given number of values in each attempt and then fails. It records when the
// attempts began.
type bursts struct {
	items []int
	takes []time.Duration
	now   func() time.Time
	start time.Time
	at    []time.Duration
}

func (b *bursts) stream() stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		if b.now == nil {
			b.now = time.Now
		}
		if b.start.IsZero() {
			b.start = b.now()
		}
		b.at = append(b.at, b.now().Sub(b.start))
		run := len(b.at) - 1
		if run < len(b.takes) {
			time.Sleep(b.takes[run])
		}
		if run < len(b.items) {
			for i := range b.items[run] {
				if !yield(i) {
					return nil
				}
			}
		}
		return errBoom
	}
}

func TestAStreamIsRetriedAsThePolicySays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bursts{}
		_, err := b.stream().RetryWhen(retry.New(backoff.Linear(time.Second), retry.Limit(3))).Collect(t.Context())
		if want := []time.Duration{0, 1e9, 3e9, 6e9}; !slices.Equal(b.at, want) {
			t.Errorf("attempts at %v, want %v", b.at, want)
		}
		gaveUp(t, err, retry.ErrExhausted, 4, 6*time.Second)
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v, want the last error in it", err)
		}
	})
}

func TestResetAfterItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bursts{items: []int{0, 1, 2, 0}}
		_, err := b.stream().RetryWhen(retry.New(backoff.Linear(time.Second), retry.Limit(2), retry.ResetAfterItems(2))).Collect(t.Context())
		// 1 s, 2 s; the third attempt delivers two: 1 s, 2 s again.
		if want := []time.Duration{0, 1e9, 3e9, 4e9, 6e9}; !slices.Equal(b.at, want) {
			t.Errorf("attempts at %v, want %v", b.at, want)
		}
		gaveUp(t, err, retry.ErrExhausted, 5, 6*time.Second)
	})
}

func TestWithoutAResetOptionTheRowNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bursts{items: []int{1000, 1000, 1000}}
		_, err := b.stream().RetryWhen(every(time.Second, retry.Limit(1))).Collect(t.Context())
		gaveUp(t, err, retry.ErrExhausted, 2, time.Second)
	})
}

func TestResetAfterOnAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bursts{takes: []time.Duration{0, time.Minute - 1, time.Minute}}
		_, err := b.stream().RetryWhen(retry.New(backoff.Linear(time.Second), retry.Limit(2), retry.ResetAfter(time.Minute))).Collect(t.Context())
		if len(b.at) != 5 {
			t.Errorf("attempts at %v, want 5 of them", b.at)
		}
		gaveUp(t, err, retry.ErrExhausted, 5, 2*time.Minute+6*time.Second-1)
	})
}

func TestResetAfterOnAPolicysOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock, attempts := clock.NewMock(), 0
		source := stream.Stream[int](func(context.Context, func(int) bool) error {
			if attempts++; attempts == 3 {
				mock.Add(time.Minute) // by the mock this attempt lasts, by the stream's clock it does not
			}
			return errBoom
		})
		_, err := source.RetryWhen(every(0, retry.Limit(2), retry.ResetAfter(time.Minute), retry.WithClock(mock))).Collect(t.Context())
		if attempts != 5 || !errors.Is(err, retry.ErrExhausted) {
			t.Errorf("%d attempts, %v; want 5", attempts, err)
		}
	})
}

func TestClocksGoBeforeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		contexts, own := clock.NewMock(), clock.NewMock()
		ctx := stream.WithClock(t.Context(), contexts)
		for _, test := range []struct {
			name  string
			mock  *clock.Mock
			retry retry.Policy
		}{
			{"the context's", contexts, every(time.Hour, retry.Limit(1))},
			{"the policy's own", own, every(time.Hour, retry.Limit(1), retry.WithClock(own))},
		} {
			b := bursts{now: test.mock.Now}
			done := make(chan error, 1)
			go func() {
				_, err := b.stream().RetryWhen(test.retry).Collect(ctx)
				done <- err
			}()
			synctest.Wait()
			test.mock.Add(time.Hour)
			gaveUp(t, <-done, retry.ErrExhausted, 2, time.Hour)
		}
	})
}

func TestACancelledWaitOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("going home")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(reason) })
		b := bursts{}
		_, err := b.stream().RetryWhen(every(time.Hour)).Collect(ctx)
		if _, is := errors.AsType[*retry.Error](err); is || !errors.Is(err, reason) || !errors.Is(err, errBoom) {
			t.Errorf("got %v, want the cause and the last failure, without an *Error", err)
		}
	})
}

func TestARefusedErrorEndsAStreamAsItIs(t *testing.T) {
	b := bursts{items: []int{1}}
	_, err := b.stream().RetryWhen(every(0, retry.If(func(error) bool { return false }))).Collect(t.Context())
	if err != errBoom || len(b.at) != 1 {
		t.Errorf("got %v after %d attempts, want the failure itself after one", err, len(b.at))
	}
}

func TestAStreamDoesNotSleepPastItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := bursts{}
		_, err := b.stream().RetryWhen(every(time.Hour)).Collect(ctx)
		gaveUp(t, err, retry.ErrDeadline, 1, 0)
	})
}

func TestSubscriptionsHaveRowsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := retry.New(backoff.Linear(time.Second), retry.Limit(2))
		done := make(chan []time.Duration)
		for range 10 {
			go func() {
				b := bursts{}
				_, _ = b.stream().RetryWhen(p).Collect(t.Context())
				done <- b.at
			}()
		}
		for range 10 {
			if got, want := <-done, []time.Duration{0, 1e9, 3e9}; !slices.Equal(got, want) {
				t.Errorf("attempts at %v, want %v", got, want)
			}
		}
	})
}

// worksNotes notes OnWorks, OnRecovered and the values.
type worksNotes []string

func (w *worksNotes) note(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func (w *worksNotes) policy(opts ...retry.Option) retry.Policy {
	return every(time.Second, retry.OnWorks(func(_ context.Context, n int) { w.note("works %d", n) }),
		retry.OnRecovered(func(context.Context, retry.Recovery) { w.note("recovered") }),
		retry.OnDone(func(context.Context, retry.Result) { w.note("done") })).With(opts...)
}

// Each attempt's first sign of life is reported once: the first attempt's too, after the recovery, before the value.
func TestOnWorks(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(ctx context.Context, p retry.Policy, note func(string, ...any)) error
		want string
	}{
		"Run": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			return retry.Run(ctx, p, failNow(2))
		}, "recovered, works 3, done"},
		"Run, at the first try": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			return retry.Run(ctx, p, failNow(0))
		}, "works 1, done"},
		"Attempts": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			for a := range p.Attempts(ctx) {
				if a.N() < 3 {
					a.Reset()
					a.Reset()
					a.Fail(errBoom)
				}
			}
			return nil
		}, "works 1, recovered, works 2, recovered, works 3, done"},
		"an Attempts loop that works at once": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			for range p.Attempts(ctx) {
			}
			return nil
		}, "works 1, done"},
		"an Attempts loop that is left": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			for range p.Attempts(ctx) {
				break
			}
			return nil
		}, "works 1, done"},
		"a stream": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return feedOf(2, 0, 1, 0).RetryWhen(p).ForEach(ctx, func(int) { note("value") })
		}, "works 1, value, value, recovered, works 3, value, recovered, works 4, done"},
		"a stream without a value": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			return stream.Empty[int]().RetryWhen(p).ForEach(ctx, func(int) {})
		}, "works 1, done"},
		"a consumer that stops": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return feedOf(5).RetryWhen(p).Take(1).ForEach(ctx, func(int) { note("value") })
		}, "works 1, value, done"},
		"Works, then a value": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return watch("wwv|").RetryWhen(p).ForEach(ctx, func(int) { note("value") })
		}, "works 1, value, done"},
		"a bookmark": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return operators.ResumeMarked(0, func(int) stream.Stream[operators.Marked[string, int]] {
				return stream.Of(operators.Marked[string, int]{At: 1, Bookmark: true}, operators.Marked[string, int]{At: 2, Value: "a"})
			}, p).ForEach(ctx, func(string) { note("value") })
		}, "works 1, value, done"},
		"Around": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return feedOf(1, 0, 1).RetryWhen(p.Around(func(a failures) failures { return a })).ForEach(ctx, func(int) { note("value") })
		}, "works 1, value, recovered, works 3, value, done"},
		"a function": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			return feedOf(1, 0, 1).RetryWhen(stream.RetryHandlerFunc(p.Handle)).ForEach(ctx, func(int) { note("value") })
		}, "value, recovered, works 3, value, done"},
		"MapRetry": {func(ctx context.Context, p retry.Policy, note func(string, ...any)) error {
			n := 0
			return operators.MapRetry(stream.Of(1), p, func(context.Context, int) (int, error) {
				if n++; n == 1 {
					return 0, errBoom
				}
				return n, nil
			}, operators.MapRetryOptions[int]{}).ForEach(ctx, func(int) { note("value") })
		}, "recovered, works 2, done, value"},
		"Operation": {func(ctx context.Context, p retry.Policy, _ func(string, ...any)) error {
			op := p.Start(ctx)
			op.Begin(ctx)
			op.Works()
			op.Works()
			_, _ = op.Failed(retry.Outcome{Err: errBoom, Items: 3})
			op.Begin(ctx)
			_, _ = op.Failed(retry.Outcome{Err: errBoom, Items: 3})
			op.Begin(ctx)
			return op.Done(retry.Outcome{})
		}, "works 1, recovered, works 2, recovered, works 3, done"},
	} {
		bubble(t, name, func(t *testing.T) {
			var w worksNotes
			if err := c.run(t.Context(), w.policy(), w.note); err != nil {
				t.Error(err)
			}
			if got := strings.Join(w, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// OnWorks is not called once the context has ended.
func TestOnWorks_NotOnceTheContextHasEnded(t *testing.T) {
	for name, run := range drivers {
		ctx, cancel := context.WithCancel(t.Context())
		var w worksNotes
		_ = run(ctx, w.policy(), func(context.Context) error { cancel(); return nil })
		if !slices.Equal(w, []string{"done"}) {
			t.Errorf("%s: %v", name, w)
		}
	}
}

// Each hook is called with the operation's context.
func TestOnWorks_Context(t *testing.T) {
	for name, run := range drivers {
		got := false
		p := every(0, retry.OnWorks(func(ctx context.Context, _ int) { got = ctx.Value(nameKey{}) == "op" }))
		if _ = run(named(t.Context()), p, failNow(0)); !got {
			t.Errorf("%s: another context", name)
		}
	}
}

// Each value refunds it once, in an attempt that fails later and in the last one.
func TestAStreamRefundsTheBudget(t *testing.T) {
	budget := retry.NewBudget(10, 2, 1)
	attempts := 0
	_, err := stream.Defer(func(context.Context) stream.Stream[int] {
		switch attempts++; attempts {
		case 1, 2, 3:
			return stream.Fail[int](errBoom)
		case 4:
			return stream.Of(1, 2).Concat(stream.Fail[int](errBoom))
		}
		return stream.Of(3)
	}).RetryWhen(every(0, retry.WithBudget(budget))).Collect(t.Context())
	if err != nil || budget.Tokens() != 10-4*2+2+1 {
		t.Errorf("%v, %v tokens; want 5", err, budget.Tokens())
	}
}
