package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A State from a text has seen all fires before Continue. Later ones end its wait and restart its count, also during an
// attempt. So has an operation that was started.
func TestSignal_OfAContinuedOperation(t *testing.T) {
	signal := retry.NewSignal()
	p := every(time.Hour, retry.ResetOn(signal), retry.Limit(1))
	stored := func(ctx context.Context) (s retry.State) {
		op := p.Start(ctx)
		if _, end := op.Failed(retry.Outcome{Err: errBoom}); end != nil {
			t.Fatal(end)
		}
		text, err := op.State().MarshalText()
		if err != nil || s.UnmarshalText(text) != nil {
			t.Fatal(err)
		}
		signal.Fire()
		return s
	}
	for name, c := range map[string]struct {
		start    func(context.Context) retry.Operation
		wait     time.Duration // when the signal fires, in the wait
		attempt  bool          // and whether it does in the attempt
		waited   time.Duration
		restarts bool
	}{
		"continued":                 {func(ctx context.Context) retry.Operation { return p.Continue(ctx, stored(ctx), errBoom) }, 0, false, time.Hour, false},
		"continued, in the wait":    {func(ctx context.Context) retry.Operation { return p.Continue(ctx, stored(ctx), errBoom) }, time.Minute, false, time.Minute, true},
		"continued, without a wait": {func(ctx context.Context) retry.Operation { return p.Continue(ctx, stored(ctx), errBoom) }, 0, true, 0, true},
		"continued, an attempt":     {func(ctx context.Context) retry.Operation { return p.Continue(ctx, stored(ctx), errBoom) }, 0, true, time.Hour, true},
		"started":                   {p.Start, 0, false, time.Hour, true}, // it has not failed before
		"started, in the wait":      {p.Start, time.Minute, false, time.Minute, true},
		"continued from the start":  {func(ctx context.Context) retry.Operation { return p.Continue(ctx, retry.State{}, nil) }, 0, false, time.Hour, true},
	} {
		bubble(t, name, func(t *testing.T) {
			signal.Fire()
			op := c.start(t.Context())
			if c.wait > 0 {
				time.AfterFunc(c.wait, signal.Fire)
			}
			start := time.Now()
			if err := op.Wait(min(time.Hour, 60*c.waited)); err != nil || time.Since(start) != c.waited {
				t.Errorf("waited %v, want %v; %v", time.Since(start), c.waited, err)
			}
			if c.attempt {
				signal.Fire()
			}
			if _, end := op.Failed(retry.Outcome{Err: errBoom}); (end == nil) != c.restarts {
				t.Errorf("got %v; want the count restarted: %v", end, c.restarts)
			}
		})
	}
}

// A State in memory keeps its count of fires: MapRetry continues one for each attempt, and a fire during an item's wait
// restarts the item's count.
func TestSignal_InTheWaitOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := retry.NewSignal()
		time.AfterFunc(time.Minute, signal.Fire)
		calls := 0
		p := every(time.Hour, retry.ResetOn(signal), retry.Limit(1))
		_, err := operators.MapRetry(stream.Of(1), p, func(context.Context, int) (int, error) { calls++; return 0, errBoom },
			operators.MapRetryOptions[int]{}).Collect(t.Context())
		if gaveUp(t, err, retry.ErrLimit, 3, time.Hour+time.Minute); calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

// Each context keeps the number of its attempt.
func TestDo_AContextKeepsItsNumber(t *testing.T) {
	var all []context.Context
	_ = retry.Run(t.Context(), every(0, retry.Limit(2)), func(ctx context.Context) error { all = append(all, ctx); return errBoom })
	for i, ctx := range all {
		if n := stream.AttemptFrom(ctx); n != i+1 {
			t.Errorf("the context of attempt %d says %d", i+1, n)
		}
	}
}

// OnOutage's hooks are called once for each outage, also if they return nil.
func TestOnOutage_OnceForAnOutage(t *testing.T) {
	begun, recovered := 0, 0
	p := every(0, retry.OnOutage(func(context.Context, error) func() { begun++; return nil }),
		retry.OnRecovered(func(context.Context, retry.Recovery) { recovered++ }))
	op := p.Start(t.Context())
	for _, items := range []int64{0, 0, 0, 5, 0} {
		_, _ = op.Failed(retry.Outcome{Err: errBoom, Items: items})
	}
	if begun != 2 || recovered != 1 {
		t.Errorf("%d outages have begun, %d were over", begun, recovered)
	}
}

// manualClock calls a function when the test does.
type manualClock struct{ f func() }

func (*manualClock) Now() time.Time { return time.Time{} }
func (c *manualClock) AfterFunc(_ time.Duration, f func()) *time.Timer {
	c.f = f
	return time.NewTimer(time.Hour)
}

// Err of a context with a timeout on an injected clock is nil until Done is closed.
func TestAttemptTimeout_ErrAndDone(t *testing.T) {
	clock := new(manualClock)
	p := every(0, retry.WithClock(clock), retry.AttemptTimeout(time.Hour), retry.Limit(200))
	_ = retry.Run(t.Context(), p, func(ctx context.Context) error {
		clock.f()
		if ctx.Err() != nil {
			select {
			case <-ctx.Done():
			default:
				t.Error("Err is set and Done is open")
			}
		}
		return errBoom
	})
}
