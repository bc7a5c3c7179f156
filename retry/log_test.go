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

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// warned is a logger whose lines are the time since its bubble began, the message, and the attributes down and
// failures.
type warned struct {
	slog.Handler // nil: nothing else is called
	start        time.Time
	level        slog.Level
	lines        []string
}

func (w *warned) Enabled(context.Context, slog.Level) bool { return true }

func (w *warned) Handle(_ context.Context, r slog.Record) error {
	if r.Level < w.level {
		return nil
	}
	line := fmt.Sprint(time.Since(w.start), " ", r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "down" || a.Key == "failures" {
			line += fmt.Sprint(" ", a.Value)
		}
		return true
	})
	w.lines = append(w.lines, line)
	return nil
}

// stillDown runs f in a bubble with a policy that logs, and expects the lines of WARN and above, up to a day.
func stillDown(t *testing.T, name string, f func(ctx context.Context, log retry.Option), want ...string) {
	bubble(t, name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		w := &warned{start: time.Now(), level: slog.LevelWarn}
		f(ctx, retry.Log(slog.New(w)))
		if got := strings.Join(w.lines, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

func always(context.Context) error { return errBoom }

func TestLog_StillDown(t *testing.T) {
	begins := "0s retrying after a failure"
	stillDown(t, "the first retry after each mark", func(ctx context.Context, log retry.Option) {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Hour)
		defer cancel()
		_ = retry.Run(ctx, every(7*time.Second, log), always)
	}, begins, "1m3s still down 1m3s 10", "5m1s still down 5m1s 44", "30m6s still down 30m6s 259", "1h0m5s still down 1h0m5s 516",
		"2h0m3s still down 2h0m3s 1030", "2h59m54s giving up")
	stillDown(t, "at the mark itself", func(ctx context.Context, log retry.Option) {
		_ = retry.Run(ctx, every(30*time.Second, log, retry.Limit(121)), always)
	}, begins, "1m0s still down 1m0s 3", "5m0s still down 5m0s 11", "30m0s still down 30m0s 61", "1h0m0s still down 1h0m0s 121", "1h0m30s giving up")
	stillDown(t, "once for marks that pass together", func(ctx context.Context, log retry.Option) {
		_ = retry.Run(ctx, every(40*time.Minute, log, retry.Limit(5)), always)
	}, begins, "40m0s still down 40m0s 2", "1h20m0s still down 1h20m0s 3", "2h0m0s still down 2h0m0s 4", "3h20m0s giving up")
	stillDown(t, "a reset does not begin the outage anew", func(ctx context.Context, log retry.Option) {
		_ = retry.Run(ctx, every(9*time.Second, log, retry.ResetAfter(time.Second), retry.Limit(1)), func(ctx context.Context) error {
			if stream.AttemptFrom(ctx) > 31 {
				return retry.Permanent(errBoom)
			}
			return failing(9, errBoom)(ctx)
		})
	}, "1s retrying after a failure", "1m1s still down 1m0s 7", "5m1s still down 5m0s 31")
	stillDown(t, "a recovery does", func(ctx context.Context, log retry.Option) {
		_ = feedOf(0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0).RetryWhen(every(20*time.Second, log)).ForEach(ctx, func(int) {})
	}, begins, "1m0s still down 1m0s 4", "1h1m20s retrying after a failure", "1h2m20s still down 1m0s 4")
	stillDown(t, "the failures' own times count", func(ctx context.Context, log retry.Option) {
		op := every(time.Minute, log).Start(ctx)
		_, _ = op.Failed(retry.Outcome{Err: errBoom, At: time.Now().Add(-2 * time.Minute)})
		_, _ = op.Failed(retry.Outcome{Err: errBoom, At: time.Now().Add(-2 * time.Minute)})
		_, _ = op.Failed(retry.Outcome{Err: errBoom})
	}, begins, "0s still down 2m0s 3")
}

// Continued from a text it does not say again what another process has said.
func TestLog_StillDownOfAStoredState(t *testing.T) {
	stillDown(t, "", func(ctx context.Context, log retry.Option) {
		ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
		var s retry.State
		if err := s.UnmarshalText([]byte("attempts=9 retries=9 first=" + ago(50*time.Hour) + " failures=4 down=" + ago(59*time.Minute))); err != nil {
			t.Fatal(err)
		}
		op := every(20*time.Second, log, retry.Limit(16)).Continue(ctx, s, errBoom)
		for end := error(nil); end == nil; {
			var d time.Duration
			if d, end = op.Failed(retry.Outcome{Err: errBoom}); end == nil {
				end = op.Wait(d)
			}
		}
	}, "1m0s still down 1h0m0s 8", "2m20s giving up")
}

// Under Quiet all lines are at DEBUG.
func TestLog_StillDownQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &warned{start: time.Now(), level: slog.LevelInfo}
		_ = retry.Run(t.Context(), every(time.Minute, retry.Log(slog.New(w)), retry.Quiet(), retry.Limit(100)), always)
		if len(w.lines) != 0 {
			t.Errorf("%q", w.lines)
		}
	})
}

// The lines of one attempt of each kind, with all attributes in their order.
func TestLog_Attributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := retry.New(backoff.Constant(59*time.Second), logTo(&b), retry.Name("prices"), retry.Limit(3))
		_ = retry.Run(t.Context(), p, func(ctx context.Context) error {
			time.Sleep(time.Second + time.Nanosecond)
			if stream.AttemptFrom(ctx) == 2 {
				return retry.RetryAfter(errBoom, time.Minute)
			}
			return errors.New("404 Not Found")
		})
		const want = `level=WARN msg="retrying after a failure" name=prices retry=1 delay=59s dictated=false lasted=1.000000001s error="404 Not Found"
level=WARN msg="still down" name=prices retry=2 delay=1m0s dictated=true lasted=1.000000001s error=boom down=1m0s failures=2
level=DEBUG msg="retrying after a failure" name=prices retry=3 delay=59s dictated=false lasted=1.000000001s error="404 Not Found"
level=ERROR msg="giving up" name=prices error.cause="limit of 3 retries" error.last="404 Not Found" error.retries=3 error.down=3m1.000000003s error.attempts=4 error.elapsed=3m1.000000003s error.name=prices
`
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", &b, want)
		}
	})
}

// A week's outage of a feed has 172 WARN lines, however often it is retried.
func TestLog_AWeeksOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const week = 7 * 24 * time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), week+time.Minute)
		defer cancel()
		w := &warned{start: time.Now(), level: slog.LevelWarn}
		p := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.Log(slog.New(w)))
		requests := 0
		err := stream.FromFunc(func(context.Context) (int, error) { requests++; return 0, errors.New("404") }).RetryWhen(p).ForEach(ctx, func(int) {})
		last := w.lines[len(w.lines)-2] // before it gives up because of the deadline
		if len(w.lines) != 1+3+7*24+1 || !strings.Contains(last, " still down 168h0m") || requests < 20_000 || !errors.Is(err, retry.ErrDeadline) {
			t.Errorf("%d lines, %s; %d requests, %v", len(w.lines), last, requests, err)
		}
	})
}
