package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// epoch is a clock that begins at the zero time and goes on when it is waited for.
type epoch struct{ now time.Time }

func (c *epoch) Now() time.Time { return c.now }

func (c *epoch) AfterFunc(d time.Duration, f func()) stream.Stopper {
	c.now = c.now.Add(d)
	f()
	return stopped{}
}

type stopped struct{}

func (stopped) Stop() bool { return false }

func TestAClockMayBeginAtTheZeroTime(t *testing.T) {
	t.Run("Within", func(t *testing.T) {
		var elapsed []time.Duration
		p := every(time.Second, retry.Within(3*time.Second), retry.WithClock(new(epoch)),
			retry.OnRetry(func(_ context.Context, e retry.Event) { elapsed = append(elapsed, e.Elapsed) }))
		err := retry.Run(t.Context(), p, func(context.Context) error { return errBoom })
		gaveUp(t, err, retry.ErrExhausted, 4, 3*time.Second)
		if want := []time.Duration{0, 1e9, 2e9}; !slices.Equal(elapsed, want) {
			t.Errorf("hooks saw %v, want %v", elapsed, want)
		}
	})
	t.Run("ResetAfter", func(t *testing.T) {
		clock, runs := new(epoch), 0
		p := every(0, retry.Limit(1), retry.ResetAfter(5*time.Second), retry.WithClock(clock))
		_, err := stream.Defer(func(context.Context) stream.Stream[int] {
			if runs++; runs == 2 {
				clock.now = clock.now.Add(5 * time.Second)
			}
			return stream.Fail[int](errBoom)
		}).RetryWhen(p).Collect(t.Context())
		if runs != 3 || !errors.Is(err, retry.ErrExhausted) {
			t.Errorf("%d attempts, %v; want 3, the second one long enough to start the row again", runs, err)
		}
	})
	t.Run("Budget", func(t *testing.T) {
		clock := new(epoch)
		p := every(0, retry.WithClock(clock), retry.WithBudget(retry.NewBudget(1, 1, 0).Refill(1)))
		for range 2 {
			err := retry.Run(t.Context(), p, func(context.Context) error { return errBoom })
			gaveUp(t, err, retry.ErrBudget, 2, 0)
			clock.now = clock.now.Add(time.Second)
		}
	})
}

// A row that was stored elsewhere may come from a clock that is ahead, and a deadline from one of another age.
func TestDecide_TimesThatAreFarApart(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		opts     []retry.Option
		since    time.Time
		deadline time.Time
		delay    time.Duration
		cause    error
	}{
		"the clock went back":              {since: now.Add(time.Hour), opts: []retry.Option{retry.Within(time.Second)}, delay: time.Second},
		"and Within is as long as can be":  {since: now.Add(time.Hour), opts: []retry.Option{retry.Within(math.MaxInt64)}, delay: time.Second},
		"the row began at the zero time":   {since: time.Time{}.Add(1), opts: []retry.Option{retry.Within(time.Hour)}, cause: retry.ErrExhausted},
		"the deadline is an age away":      {since: now, deadline: now.AddDate(1000, 0, 0), delay: time.Second},
		"the deadline has passed":          {since: now, deadline: now.Add(-1), cause: retry.ErrDeadline},
		"the deadline passed ages ago":     {since: now, deadline: time.Time{}.Add(1), cause: retry.ErrDeadline},
		"the deadline is now":              {since: now, deadline: now, cause: retry.ErrDeadline},
		"the deadline is when it is due":   {since: now, deadline: now.Add(time.Second), cause: retry.ErrDeadline},
		"the deadline is just after that":  {since: now, deadline: now.Add(time.Second + 1), delay: time.Second},
		"without a wait there is no limit": {since: now, opts: []retry.Option{retry.WithBackoff(backoff.Backoff{})}, deadline: now},
	} {
		t.Run(name, func(t *testing.T) {
			p := every(time.Second, c.opts...)
			var row retry.State
			if err := row.UnmarshalText([]byte("attempts=1 retries=1 first=" + c.since.Format(time.RFC3339Nano))); err != nil {
				t.Fatal(err)
			}
			delay, err := decide(p, &row, stream.Failure{Err: errBoom}, now, c.deadline)
			if delay != c.delay || !errors.Is(err, c.cause) {
				t.Errorf("got %v, %v; want %v, %v", delay, err, c.delay, c.cause)
			}
		})
	}
}

// A clock may call back under its own lock: a call that hangs for its AttemptTimeout, and a wait, end in their time.
func TestAClockThatCallsBackUnderItsLock(t *testing.T) {
	hangs := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	for name, run := range map[string]func(ctx context.Context, p retry.Policy) error{
		"Do": func(ctx context.Context, p retry.Policy) error {
			_, err := retry.Do(ctx, p, hangs)
			return err
		},
		"RetryWhen": func(ctx context.Context, p retry.Policy) error {
			return stream.FromFunc(hangs).Timeout(2*time.Second).RetryWhen(p).ForEach(ctx, func(int) {})
		},
	} {
		for _, own := range []bool{false, true} {
			bubble(t, name, func(t *testing.T) {
				p, start := every(time.Second, retry.Limit(2), retry.AttemptTimeout(2*time.Second), retry.ResetAfter(time.Hour)), time.Now()
				clock := &check.LockedClock{T: t}
				ctx := stream.WithClock(t.Context(), clock)
				if own {
					p = p.With(retry.WithClock(clock))
				}
				if err := run(ctx, p); !errors.Is(err, retry.ErrLimit) || time.Since(start) != 8*time.Second {
					t.Errorf("%v after %v, want the limit after 8s", err, time.Since(start))
				}
				synctest.Wait()
			})
		}
	}
}

// An engine's own Lasted counts, also after Begin.
func TestOperation_LastedOfTheEngine(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var lasted []time.Duration
		op := every(0, retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { lasted = append(lasted, a.Lasted) })).Start(t.Context())
		for _, own := range []time.Duration{5 * time.Second, 0} {
			op.Begin(t.Context())
			time.Sleep(time.Second)
			if _, end := op.Failed(retry.Outcome{Err: errBoom, Lasted: own}); end != nil {
				t.Fatal(end)
			}
		}
		if len(lasted) != 2 || lasted[0] != 5*time.Second || lasted[1] != time.Second {
			t.Errorf("lasted %v, want 5s and 1s", lasted)
		}
	})
}

// firingClock fires a signal while a timer is set.
type firingClock struct {
	ownClock
	signal *retry.Signal
}

func (c firingClock) AfterFunc(d time.Duration, f func()) *time.Timer {
	c.signal.Fire()
	return c.ownClock.AfterFunc(d, f)
}

// A fire after the last look at the fires and before the wait ends the wait.
func TestOperation_AFireWhileTheTimerIsSet(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		signal := retry.NewSignal()
		op := every(time.Hour, retry.ResetOn(signal), retry.WithClock(firingClock{signal: signal})).Start(t.Context())
		d, _ := op.Failed(retry.Outcome{Err: errBoom})
		start := time.Now()
		if err := op.Wait(d); err != nil || d != time.Hour || time.Since(start) != 0 {
			t.Errorf("waited %v of %v; %v", time.Since(start), d, err)
		}
	})
}

// Each call's context has the call's number.
func TestDo_FifteenCalls(t *testing.T) {
	n := 0
	err := retry.Run(t.Context(), every(0), func(ctx context.Context) error {
		if n++; stream.AttemptFrom(ctx) != n {
			t.Errorf("call %d is attempt %d", n, stream.AttemptFrom(ctx))
		}
		if n == 15 {
			return nil
		}
		return errBoom
	})
	if err != nil || n != 15 {
		t.Errorf("%d calls, %v", n, err)
	}
}

// Failed is for failures.
func TestOperation_FailedWithoutAnError(t *testing.T) {
	op := every(0).Start(t.Context())
	for _, call := range []func(){
		func() { _, _ = op.Failed(retry.Outcome{}) },
		func() { _ = op.Refused(retry.Outcome{Items: 1}) },
	} {
		check.Panics(t, "retry: Operation.Failed: f.Err is nil, want the failure; Done records a success", call)
	}
	if _, end := op.Failed(retry.Outcome{Err: errBoom}); end != nil || !errors.Is(op.Done(retry.Outcome{Err: errBoom}), errBoom) {
		t.Error(end)
	}
}
