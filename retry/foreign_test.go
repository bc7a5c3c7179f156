package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

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
		func() {
			defer func() {
				if got := recover(); got != "retry: Operation.Failed: f.Err is nil, want the failure; Done records a success" {
					t.Errorf("got %v", got)
				}
			}()
			call()
		}()
	}
	if _, end := op.Failed(retry.Outcome{Err: errBoom}); end != nil || !errors.Is(op.Done(retry.Outcome{Err: errBoom}), errBoom) {
		t.Error(end)
	}
}
