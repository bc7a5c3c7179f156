package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

type nameKey struct{}

func named(ctx context.Context) context.Context {
	return context.WithValue(ctx, nameKey{}, "op")
}

// journal notes the calls of all hooks.
type journal []string

func (j *journal) note(ctx context.Context, format string, args ...any) {
	if ctx.Value(nameKey{}) != "op" {
		format = "not the operation's context: " + format
	}
	*j = append(*j, fmt.Sprintf(format, args...))
}

func (j *journal) options() []retry.Option {
	return []retry.Option{
		retry.OnRetry(func(ctx context.Context, e retry.Event) {
			j.note(ctx, "retry %d in %v, down %v, lasted %v: %v", e.N, e.Delay, e.Elapsed, e.Lasted, e.Err)
		}),
		retry.OnGiveUp(func(ctx context.Context, e *retry.Error) { j.note(ctx, "gave up: %v", e) }),
		retry.OnRecovered(func(ctx context.Context, r retry.Recovery) {
			j.note(ctx, "recovered by %d after %v: %v", r.Retries, r.Down, r.Last)
		}),
		retry.OnDone(func(ctx context.Context, r retry.Result) {
			j.note(ctx, "done %d/%d in %v: %v", r.Attempts, r.Retries, r.Elapsed, r.Err)
		}),
	}
}

func (j journal) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(j, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(j, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// driver runs a job under a policy in one of the ways that there are.
type driver func(ctx context.Context, p retry.Policy, job func(context.Context) error) error

var drivers = map[string]driver{
	"Run": func(ctx context.Context, p retry.Policy, job func(context.Context) error) error {
		return retry.Run(ctx, p, job)
	},
	"Attempts": func(ctx context.Context, p retry.Policy, job func(context.Context) error) error {
		for a, err := range p.Attempts(ctx) {
			if err != nil {
				return err
			}
			a.Fail(job(ctx))
		}
		return nil
	},
	"RetryWhen": func(ctx context.Context, p retry.Policy, job func(context.Context) error) error {
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error { return job(ctx) })
		_, err := src.RetryWhen(p).Collect(ctx)
		return err
	},
	"RetryWhen, Around": func(ctx context.Context, p retry.Policy, job func(context.Context) error) error {
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error { return job(ctx) })
		_, err := src.RetryWhen(p.Around(func(answers failures) failures { return answers })).Collect(ctx)
		return err
	},
}

func eachDriver(t *testing.T, f func(t *testing.T, run driver)) {
	t.Helper()
	for name, run := range drivers {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, run) }) })
	}
}

// failing is a job that takes a second and fails n times.
func failing(n int, err error) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(time.Second)
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

func TestHooks_OfAnOperation(t *testing.T) {
	eachDriver(t, func(t *testing.T, run driver) {
		var j journal
		p := retry.New(backoff.Linear(time.Second), retry.Limit(2)).With(j.options()...)
		ctx := named(t.Context())

		_ = run(ctx, p, failing(2, errBoom))
		j.want(t,
			"retry 1 in 1s, down 0s, lasted 1s: boom",
			"retry 2 in 2s, down 2s, lasted 1s: boom",
			"recovered by 2 after 5s: boom",
			"done 3/2 in 6s: <nil>")

		j = nil
		_ = run(ctx, p, failing(9, errBoom))
		gaveUp := "retry: limit of 2 retries: 3 failures in 5s: boom"
		j.want(t,
			"retry 1 in 1s, down 0s, lasted 1s: boom",
			"retry 2 in 2s, down 2s, lasted 1s: boom",
			"gave up: "+gaveUp,
			"done 3/2 in 6s: "+gaveUp)
	})
}

func TestHooks_UnderAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(named(t.Context()))
		cancel()
		for _, name := range []string{"Run", "Attempts"} {
			var j journal
			err := drivers[name](ctx, every(0, j.options()...), func(context.Context) error { t.Error("called"); return nil })
			j.want(t, "done 0/0 in 0s: retry: context canceled: no attempt was made")
			if e, ok := errors.AsType[*retry.Error](err); !ok || e.Last != nil || e.Elapsed != 0 || !slices.Equal(e.Unwrap(), []error{context.Canceled}) {
				t.Errorf("%s: %#v", name, err)
			}
		}
	})
}

// What an operation has recovered from is not said once its context has ended.
func TestOnRecovered_NotOnceTheContextHasEnded(t *testing.T) {
	for _, name := range []string{"Run", "Attempts", "RetryWhen"} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_ = drivers[name](ctx, every(0, retry.OnRecovered(func(context.Context, retry.Recovery) { t.Errorf("%s: called", name) })),
			func(context.Context) error {
				if calls++; calls == 1 {
					return errBoom
				}
				cancel()
				return nil
			})
	}
}

// feedOf is a stream whose attempts deliver the given numbers of values, one an hour. All attempts but the last fail.
func feedOf(values ...int) stream.Stream[int] {
	run := 0
	return func(ctx context.Context, yield func(int) bool) error {
		n := values[run]
		run++
		for range n {
			time.Sleep(time.Hour)
			if !yield(run) {
				return nil
			}
		}
		if run == len(values) {
			return nil
		}
		return fmt.Errorf("failure %d", run)
	}
}

// Four outages of a second, ten hours apart. Without a Reset option the row of retries never ends, but each outage is
// one of its own.
func TestOnRecovered_ByOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		p := every(time.Second).With(j.options()...)
		_ = feedOf(10, 10, 10, 10, 1).RetryWhen(p).ForEach(named(t.Context()), func(int) {})
		j.want(t,
			"retry 1 in 1s, down 0s, lasted 10h0m0s: failure 1",
			"recovered by 1 after 1h0m1s: failure 1",
			"retry 2 in 1s, down 10h0m1s, lasted 10h0m0s: failure 2",
			"recovered by 1 after 1h0m1s: failure 2",
			"retry 3 in 1s, down 20h0m2s, lasted 10h0m0s: failure 3",
			"recovered by 1 after 1h0m1s: failure 3",
			"retry 4 in 1s, down 30h0m3s, lasted 10h0m0s: failure 4",
			"recovered by 1 after 1h0m1s: failure 4",
			"done 5/4 in 41h0m4s: <nil>")
	})
}

// An outage goes on over a reset, and ends with a value.
func TestOnRecovered_AnOutageOutlastsAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		online := retry.NewSignal()
		var j journal
		p := every(time.Second, retry.ResetOn(online), retry.OnRetry(func(context.Context, retry.Event) { online.Fire() })).With(j.options()...)
		_ = feedOf(1, 0, 0, 1).RetryWhen(p).ForEach(named(t.Context()), func(v int) { j = append(j, fmt.Sprint("value ", v)) })
		j.want(t,
			"value 1",
			"retry 1 in 1s, down 0s, lasted 1h0m0s: failure 1",
			"retry 1 in 1s, down 0s, lasted 0s: failure 2",
			"retry 1 in 1s, down 0s, lasted 0s: failure 3",
			"recovered by 3 after 1h0m0s: failure 3",
			"value 4",
			"done 4/3 in 2h0m0s: <nil>")
	})
}

func TestOnRecovered_AConsumerThatStopsAtThatValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		_, _ = feedOf(0, 1, 1).RetryWhen(every(time.Second).With(j.options()...)).Take(1).Collect(named(t.Context()))
		j.want(t, "retry 1 in 1s, down 0s, lasted 0s: failure 1", "recovered by 1 after 1h0m1s: failure 1", "done 2/1 in 1h0m1s: <nil>")
	})
}

// A function hides what a policy is, until an attempt has failed.
func TestHooks_AFunctionWithoutAFailure(t *testing.T) {
	p := every(0, retry.OnAttempt(func(context.Context, retry.AttemptEnd) { t.Error("OnAttempt") }),
		retry.OnDone(func(context.Context, retry.Result) { t.Error("OnDone") }))
	_, _ = stream.Of(1).RetryWhen(stream.RetryHandlerFunc(p.Handle)).Collect(t.Context())
}

func TestAttempts_ResetIsARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var late *retry.Attempt
		for a, err := range every(time.Second, retry.Limit(2)).With(j.options()...).Attempts(named(t.Context())) {
			if late != nil {
				late.Reset() // says nothing after its turn
			}
			late = a
			if err != nil {
				break
			}
			switch a.N() {
			case 3:
				a.Reset()
				a.Reset()
				time.Sleep(time.Hour)
			}
			a.Fail(fmt.Errorf("failure %d", a.N()))
		}
		gaveUp := "retry: limit of 2 retries: 3 failures in 2s: failure 5 (5 attempts in 1h0m4s)"
		j.want(t,
			"retry 1 in 1s, down 0s, lasted 0s: failure 1",
			"retry 2 in 1s, down 1s, lasted 0s: failure 2",
			"recovered by 2 after 2s: failure 2",
			"retry 1 in 1s, down 0s, lasted 1h0m0s: failure 3",
			"retry 2 in 1s, down 1s, lasted 0s: failure 4",
			"gave up: "+gaveUp,
			"done 5/4 in 1h0m4s: "+gaveUp)
	})
}

func TestAttempts_ABodyThatLeavesIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		for a := range every(0, j.options()...).Attempts(named(t.Context())) {
			a.Fail(errBoom)
			break
		}
		for range every(0, j.options()...).Attempts(named(t.Context())) {
			break
		}
		j.want(t, "done 1/0 in 0s: boom", "done 1/0 in 0s: <nil>")
	})
}

// Clocks are read only for those who want to know.
func TestTimesAreTakenOnlyIfNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		option        retry.Option
		first, second int // reads of the clock for a success at the first try, and at the second
	}{
		"nothing":     {retry.Limit(1), 0, 1},
		"OnGiveUp":    {retry.OnGiveUp(func(context.Context, *retry.Error) {}), 0, 1},
		"OnRecovered": {retry.OnRecovered(func(context.Context, retry.Recovery) {}), 0, 2},
		"ResetAfter":  {retry.ResetAfter(time.Hour), 1, 3},
		"OnRetry":     {retry.OnRetry(func(context.Context, retry.Event) {}), 1, 3},
		"Log":         {retry.Log(slog.New(slog.DiscardHandler)), 1, 4},
		"OnDone":      {retry.OnDone(func(context.Context, retry.Result) {}), 3, 5},
		"OnAttempt":   {retry.OnAttempt(func(context.Context, retry.AttemptEnd) {}), 2, 4},
		"OnOutage":    {retry.OnOutage(func(context.Context, error) func() { return nil }), 0, 1},
	} {
		for fails, want := range []int{c.first, c.second} {
			clock := &countingClock{}
			if err := retry.Run(t.Context(), every(0, retry.WithClock(clock), c.option), failNow(fails)); err != nil {
				t.Error(err)
			}
			if clock.reads != want {
				t.Errorf("%s, %d failures: the clock was read %d times, want %d", name, fails, clock.reads, want)
			}
		}
	}
}

type countingClock struct{ reads int }

func (c *countingClock) Now() time.Time { c.reads++; return time.Now() }

func (c *countingClock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

func logTo(b *bytes.Buffer) retry.Option { return retry.Log(loggerTo(b)) }

// loggerTo writes lines without a time.
func loggerTo(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func TestLog_ByOutages(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(ctx context.Context, p retry.Policy) error
		want string
	}{
		"a stream": {
			func(ctx context.Context, p retry.Policy) error {
				return feedOf(1, 0, 1, 1).RetryWhen(p).ForEach(ctx, func(int) {})
			},
			`level=WARN msg="retrying after a failure" retry=1 delay=1s dictated=false lasted=1h0m0s error="failure 1"
level=DEBUG msg="retrying after a failure" retry=2 delay=1s dictated=false lasted=0s error="failure 2"
level=INFO msg=recovered retries=2 down=1h0m2s last="failure 2"
level=WARN msg="retrying after a failure" retry=3 delay=1s dictated=false lasted=1h0m0s error="failure 3"
level=INFO msg=recovered retries=1 down=1h0m1s last="failure 3"
`,
		},
		"permanent at first": {
			func(ctx context.Context, p retry.Policy) error {
				return retry.Run(ctx, p, failing(9, retry.Permanent(errBoom)))
			},
			"",
		},
		"permanent in an outage": {
			func(ctx context.Context, p retry.Policy) error {
				return retry.Run(ctx, p, failOnce(retry.Permanent(errBoom)))
			},
			`level=WARN msg="retrying after a failure" retry=1 delay=1s dictated=false lasted=0s error=passing
level=INFO msg="retries ended" attempts=2 error=boom
`,
		},
		"cancelled in a wait": {
			func(ctx context.Context, p retry.Policy) error {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(1500*time.Millisecond, cancel)
				return retry.Run(ctx, p, failing(9, errBoom))
			},
			`level=WARN msg="retrying after a failure" retry=1 delay=1s dictated=false lasted=1s error=boom
level=INFO msg="retries ended" attempts=1 error.cause="context canceled" error.last=boom error.retries=0 error.down=500ms error.attempts=1 error.elapsed=500ms
`,
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var b bytes.Buffer
			_ = c.run(t.Context(), every(time.Second, logTo(&b)))
			if b.String() != c.want {
				t.Errorf("got\n%swant\n%s", &b, c.want)
			}
		})
	}
}

func failOnce(then error) func(context.Context) error {
	n := 0
	return func(context.Context) error {
		if n++; n == 1 {
			return errors.New("passing")
		}
		return then
	}
}

func TestBeforeFirstItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, gaveUp := 0, 0
		p := every(time.Second, retry.BeforeFirstItem(), retry.ResetAfterItems(1),
			retry.If(func(error) bool { asked++; return true }), retry.OnGiveUp(func(context.Context, *retry.Error) { gaveUp++ }))
		got, err := feedOf(0, 0, 2, 5).RetryWhen(p).Collect(t.Context())
		if !slices.Equal(got, []int{3, 3}) || err == nil || err.Error() != "failure 3" || asked != 3 || gaveUp != 0 {
			t.Errorf("got %v, %v; the predicate was asked %d times, OnGiveUp called %d", got, err, asked, gaveUp)
		}
	})
}

func TestWithoutRetries(t *testing.T) {
	eachDriver(t, func(t *testing.T, run driver) {
		ctx := retry.WithoutRetries(t.Context())
		gaveUp := 0
		p := every(time.Second, retry.OnGiveUp(func(context.Context, *retry.Error) { gaveUp++ }))
		err := run(ctx, p, failing(1, errBoom))
		if e, ok := errors.AsType[*retry.Error](err); !ok || !errors.Is(e, retry.ErrLimit) || !errors.Is(e, retry.ErrWithoutRetries) || !errors.Is(e, errBoom) || e.Attempts != 1 || gaveUp != 1 {
			t.Errorf("got %v, gave up %d times", err, gaveUp)
		}
		if err := run(ctx, p, failing(1, retry.Permanent(errBoom))); gaveUp != 1 || err.Error() != "boom" {
			t.Errorf("permanent: %v", err)
		}
		refuses := p.With(retry.If(func(error) bool { return false }))
		if err := run(ctx, refuses, failing(1, errBoom)); gaveUp != 1 || err != errBoom {
			t.Errorf("refused: %v", err)
		}
		if err := run(ctx, p, failing(0, nil)); err != nil {
			t.Error(err)
		}
	})
	n := 0
	if err := stream.FromFunc(func(context.Context) (int, error) { n++; return 0, errBoom }).Retry(2).ForEach(retry.WithoutRetries(t.Context()), func(int) {}); n != 3 || err != errBoom {
		t.Errorf("Retry(2) made %d attempts, %v; it is no policy", n, err)
	}
}

func TestAttemptFrom(t *testing.T) {
	var got []int
	note := func(ctx context.Context) { got = append(got, stream.AttemptFrom(ctx)) }
	p := every(0, retry.Limit(2))
	expect := func(want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		got = nil
	}
	_ = retry.Run(t.Context(), p, func(ctx context.Context) error { note(ctx); return errBoom })
	expect(1, 2, 3)
	timed := p.With(retry.AttemptTimeout(time.Hour))
	_ = retry.Run(t.Context(), timed, func(ctx context.Context) error { note(ctx); return errBoom })
	expect(1, 2, 3)

	// The innermost retry counts.
	_ = retry.Run(t.Context(), p, func(ctx context.Context) error {
		_, err := stream.FromFunc(func(ctx context.Context) (int, error) { note(ctx); return 0, errBoom }).Retry(1).Collect(ctx)
		return err
	})
	expect(1, 2, 2, 2, 3, 2)
	if note(t.Context()); got[0] != 1 {
		t.Errorf("outside: %d", got[0])
	}
	if n := testing.AllocsPerRun(100, func() { stream.AttemptFrom(t.Context()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAttemptFrom(b *testing.B) {
	type key struct{}
	look := func(b *testing.B, ctx context.Context) {
		ctx = context.WithValue(ctx, key{}, 1)
		b.ReportAllocs()
		for b.Loop() {
			_ = stream.AttemptFrom(ctx)
		}
	}
	b.Run("outside", func(b *testing.B) { look(b, context.Background()) })
	b.Run("in a retry", func(b *testing.B) {
		_ = retry.Run(context.Background(), every(0, retry.Limit(1)), func(ctx context.Context) error {
			if stream.AttemptFrom(ctx) == 2 {
				look(b, ctx)
			}
			return errBoom
		})
	})
}

func TestHooksOfAKindComeInTheirOrder(t *testing.T) {
	var told []string
	tell := func(text string) { told = append(told, text) }
	hooks := func(name string) retry.Option {
		return retry.JoinOptions(
			retry.OnAttempt(func(context.Context, retry.AttemptEnd) { tell("attempt" + name) }),
			retry.OnRetry(func(context.Context, retry.Event) { tell("retry" + name) }),
			retry.OnRecovered(func(context.Context, retry.Recovery) { tell("recovered" + name) }),
			retry.OnGiveUp(func(context.Context, *retry.Error) { tell("gave up" + name) }),
			retry.OnDone(func(context.Context, retry.Result) { tell("done" + name) }))
	}
	p := every(0, retry.Limit(1), hooks(" 1"), hooks(" 2"))
	for _, fails := range []int{1, -1} {
		c := calls{fails: fails}
		_, _ = retry.Do(t.Context(), p, c.do)
	}
	var firsts []string
	for i := 0; i+1 < len(told); i += 2 {
		first := strings.TrimSuffix(told[i], " 1")
		if firsts = append(firsts, first); told[i+1] != first+" 2" {
			t.Errorf("%s comes before %s", told[i], told[i+1])
		}
	}
	if got, want := strings.Join(firsts, ", "), "attempt, retry, attempt, recovered, done, attempt, retry, attempt, gave up, done"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}
