package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
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
