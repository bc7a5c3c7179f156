package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// outages records the attempts and the outages of a policy.
type outages struct {
	began time.Time
	lines []string
	down  int
}

func (o *outages) note(format string, args ...any) {
	o.lines = append(o.lines, fmt.Sprint(time.Since(o.began), " ", fmt.Sprintf(format, args...)))
}

func (o *outages) options() []retry.Option {
	o.began = time.Now()
	return []retry.Option{
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { o.note("attempt %d: %v in %v", a.N, a.Err, a.Lasted) }),
		retry.OnOutage(func(_ context.Context, err error) func() {
			o.down++
			o.note("down: %v", err)
			return func() { o.down--; o.note("over") }
		}),
		retry.OnOutage(func(context.Context, error) func() { return nil }),
		retry.OnRetry(func(_ context.Context, e retry.Event) { o.note("retry %d", e.N) }),
		retry.OnRecovered(func(context.Context, retry.Recovery) { o.note("recovered") }),
		retry.OnDone(func(_ context.Context, r retry.Result) { o.note("done %d", r.Attempts) }),
	}
}

// Each attempt is reported once, when it ends, and each outage from its first retry to its end. The stories show it for
// every driver.
func TestAttemptsAndOutages(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(ctx context.Context, p retry.Policy) error
		want string
	}{
		"an Operation that is stored": {func(ctx context.Context, p retry.Policy) error {
			op := p.Start(ctx)
			_, err := op.Failed(retry.Outcome{Err: errBoom, Lasted: time.Second})
			op = p.Continue(ctx, op.State(), errBoom)
			_, _ = op.Failed(retry.Outcome{Err: errBoom, Lasted: time.Minute})
			op = p.Continue(ctx, op.State(), errBoom)
			return errors.Join(err, op.Done(retry.Outcome{Lasted: time.Hour}))
		}, `0s attempt 1: boom in 1s
0s down: boom
0s retry 1
0s over
0s attempt 2: boom in 1m0s
0s down: boom
0s retry 2
0s over
0s attempt 3: <nil> in 1h0m0s
0s recovered
0s done 3`},
		"an Attempts loop that is left": {func(ctx context.Context, p retry.Policy) error {
			for a := range p.Attempts(ctx) {
				if a.Fail(errBoom); a.N() == 2 {
					break
				}
			}
			return nil
		}, `0s attempt 1: boom in 0s
0s down: boom
0s retry 1
1s attempt 2: boom in 0s
1s over
1s done 2`},
		"a stream with a permanent failure after another": {func(ctx context.Context, p retry.Policy) error {
			return feedOf(0, 1).Concat(stream.Fail[int](retry.Permanent(errBoom))).RetryWhen(p).ForEach(ctx, func(int) {})
		}, `0s attempt 1: failure 1 in 0s
0s down: failure 1
0s retry 1
1h0m1s over
1h0m1s recovered
1h0m1s attempt 2: boom in 1h0m0s
1h0m1s done 2`},
	} {
		bubble(t, name, func(t *testing.T) {
			var o outages
			_ = c.run(t.Context(), every(time.Second, o.options()...))
			if got := strings.Join(o.lines, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if o.down != 0 {
				t.Errorf("%d outages are not over", o.down)
			}
		})
	}
}

func TestName(t *testing.T) {
	p := every(0, retry.Limit(1), retry.Name("prices"))
	err := retry.Run(t.Context(), p, failNow(9))
	if want := "retry: prices: limit of 1 retry: 2 failures in "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	if e, ok := errors.AsType[*retry.Error](err); !ok || e.Name != "prices" {
		t.Errorf("the error's name: %+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := retry.Run(ctx, p, failNow(0)); err.Error() != "retry: prices: context canceled: no attempt was made" {
		t.Errorf("cancelled before: %v", err)
	}
	if p.Name() != "prices" || every(0).Name() != "" || (retry.Policy{}).Name() != "" {
		t.Errorf("names %q, %q", p.Name(), every(0).Name())
	}
	if text := p.String(); strings.Contains(text, "prices") {
		t.Errorf("the text form is %q", text)
	}
	if err := retry.Run(t.Context(), p.With(retry.Name("quotes")), failNow(9)); !strings.Contains(err.Error(), "quotes") {
		t.Errorf("another name: %v", err)
	}
}

// A Timeout in an attempt of a named policy says which feed it is. The innermost name counts.
func TestName_OfATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		named := func(name string) retry.Policy { return every(0, retry.Limit(1), retry.Name(name)) }
		silent := stream.Never[int]().Timeout(time.Minute)
		for _, c := range []struct {
			name string
			src  stream.Stream[int]
			want string
		}{
			{"named", silent.RetryWhen(named("prices")), "stream: timeout: prices: nothing came for 1m0s"},
			{"inside others", silent.RetryWhen(named("prices")).Timeout(time.Hour).RetryWhen(named("all")), "stream: timeout: prices: nothing came for 1m0s"},
			{"around another", stream.Never[int]().RetryWhen(named("prices")).Timeout(time.Hour).RetryWhen(named("all")), "stream: timeout: all: nothing came for 1h0m0s"},
			{"in another's attempt", operators.Map(silent.RetryWhen(every(0, retry.Limit(0))), func(n int) int { return n }).RetryWhen(named("all")), "stream: timeout: all: nothing came for 1m0s"},
			{"outside of an attempt", silent, "stream: timeout: nothing came for 1m0s"},
			{"without a name", silent.RetryWhen(every(0, retry.Limit(1))), "stream: timeout: nothing came for 1m0s"},
		} {
			err := c.src.ForEach(t.Context(), func(int) {})
			if !errors.Is(err, stream.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		}
		var cause error
		_ = stream.FromFunc(func(ctx context.Context) (int, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return 0, cause
		}).Timeout(time.Minute).RetryWhen(named("prices")).ForEach(t.Context(), func(int) {})
		if want := "stream: timeout: prices: nothing came for 1m0s"; cause == nil || cause.Error() != want {
			t.Errorf("the source's context ended with %v, want %s", cause, want)
		}
	})
}

// A policy in a package variable logs to what main has set.
func TestLog_NilIsTheDefaultAtTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := every(time.Second, retry.Limit(1), retry.Name("prices"), retry.Log(nil))
		before := slog.Default()
		defer slog.SetDefault(before)
		var b bytes.Buffer
		slog.SetDefault(loggerTo(&b))
		_ = retry.Run(t.Context(), p, func(context.Context) error { return retry.RetryAfter(errBoom, 3*time.Second) })
		want := `level=WARN msg="retrying after a failure" name=prices retry=1 delay=3s dictated=true lasted=0s error=boom
level=ERROR msg="giving up" name=prices error.cause="limit of 1 retry" error.last=boom error.retries=1 error.down=3s error.attempts=2 error.elapsed=3s error.name=prices
`
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	})
}

// The first retry of an outage is a WARN, also if something else has answered a failure before it.
func TestLog_SomethingElseAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := every(time.Second, logTo(&b))
		err := feedOf(0, 0, 0).RetryWhen(answers(func(all failures) failures {
			return everySecond(1).Merge(p.Handle(all.Delay(3 * time.Second)))
		})).ForEach(t.Context(), func(int) {})
		if text := b.String(); err != nil || strings.Count(text, "level=WARN") != 1 || strings.Contains(text, "level=DEBUG") {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func TestIsPermanent(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, errBoom: false, retry.Permanent(errBoom): true, fmt.Errorf("outside: %w", stream.Permanent(errBoom)): true,
	} {
		if retry.IsPermanent(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}

// A stream calls a hook also if the policy has no other one.
func TestAStream_EachHookAlone(t *testing.T) {
	calls := 0
	for name, c := range map[string]struct {
		hook retry.Option
		want int
	}{
		"OnAttempt":   {retry.OnAttempt(func(context.Context, retry.AttemptEnd) { calls++ }), 2},
		"OnOutage":    {retry.OnOutage(func(context.Context, error) func() { return func() { calls++ } }), 1},
		"OnRetry":     {retry.OnRetry(func(context.Context, retry.Event) { calls++ }), 1},
		"OnRecovered": {retry.OnRecovered(func(context.Context, retry.Recovery) { calls++ }), 1},
		"OnDone":      {retry.OnDone(func(context.Context, retry.Result) { calls++ }), 1},
	} {
		calls = 0
		failed := false
		s := stream.FromFunc(func(context.Context) (int, error) {
			if !failed {
				failed = true
				return 0, errBoom
			}
			return 1, nil
		})
		got, err := s.RetryWhen(every(0, c.hook)).Collect(t.Context())
		if calls != c.want || len(got) != 1 || err != nil {
			t.Errorf("%s: %d calls, want %d; the stream had %v, %v", name, calls, c.want, got, err)
		}
	}
}
