package retry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

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
			done := make(chan error, 1)
			go func() { done <- stream.Fail[int](errBoom).RetryWhen(test.retry).ForEach(ctx, func(int) {}) }()
			synctest.Wait()
			test.mock.Add(time.Hour)
			gaveUp(t, <-done, retry.ErrExhausted, 2, time.Hour)
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

func TestSubscriptionsHaveRowsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start, done := every(time.Second, retry.Limit(2)), time.Now(), make(chan string)
		for range 10 {
			go func() {
				at := ""
				_, _ = stream.Defer(func(context.Context) stream.Stream[int] {
					at += fmt.Sprint(time.Since(start), " ")
					return stream.Fail[int](errBoom)
				}).RetryWhen(p).Collect(t.Context())
				done <- at
			}()
		}
		for range 10 {
			if got := <-done; got != "0s 1s 2s " {
				t.Errorf("attempts at %s", got)
			}
		}
	})
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

// An answer that comes late belongs to the failure that it answers, also if the handler has lost the failure's number.
func TestHandle_ALateAnswerIsToItsOwnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, at := time.Now(), ""
		slow, fast := every(10*time.Second), every(time.Second)
		_ = stream.Defer(func(context.Context) stream.Stream[int] {
			if at += fmt.Sprint(time.Since(start), " "); len(at) > len("0s 1s ") {
				return stream.Of(1)
			}
			return stream.Fail[int](errBoom)
		}).RetryWhen(stream.RetryHandlerFunc(func(f failures) failures {
			unnumbered := operators.Map(f, func(f stream.Failure) stream.Failure { return stream.Failure{Err: f.Err} })
			return slow.Handle(unnumbered).Merge(fast.Handle(f).Take(1), f.IgnoreElements())
		})).ForEach(t.Context(), func(int) {})
		if at != "0s 1s 20s " {
			t.Errorf("attempts at %s, want 0s 1s 20s", at)
		}
	})
}

func TestHandle_OutsideOfRetryWhenThePolicysClockMeasuresAttempts(t *testing.T) {
	for lasted, answers := range map[time.Duration]int{time.Minute - 1: 1, time.Minute: 3} {
		own, f := clock.NewMock(), stream.Failure{Err: errBoom}
		p := every(0, retry.Limit(1), retry.ResetAfter(time.Minute), retry.WithClock(own))
		got, _ := p.Handle(stream.Of(f, f, f).Tap(func(stream.Failure) { own.Add(lasted) })).Collect(t.Context())
		if len(got) != answers {
			t.Errorf("attempts of %v: %d answers, want %d", lasted, len(got), answers)
		}
	}
}
