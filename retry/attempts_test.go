package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestAttemptsWaitsBetweenItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var turns []string
		for a, err := range retry.New(backoff.Linear(time.Second), retry.Limit(2)).Attempts(t.Context()) {
			turns = append(turns, fmt.Sprint(time.Since(start), " ", a.N(), " ", a.Err(), " ", err))
			a.Fail(fmt.Errorf("failure %d", a.N()))
		}
		want := []string{
			"0s 1 <nil> <nil>",
			"1s 2 failure 1 <nil>",
			"3s 3 failure 2 <nil>",
			"3s 3 failure 2 retry: limit of 2 retries: 3 failures in 3s: failure 3",
		}
		if !slices.Equal(turns, want) {
			t.Errorf("got  %q\nwant %q", turns, want)
		}
	})
}

// A loop that succeeds at once makes no Operation; Reset needs one. What else is allocated depends on inlining.
func TestAttemptsMakesAnOperationOnlyForReset(t *testing.T) {
	p := every(time.Second, retry.Limit(3))
	allocations := func(reset bool) float64 {
		return testing.AllocsPerRun(100, func() {
			for a, err := range p.Attempts(t.Context()) {
				if a.N() != 1 || err != nil {
					t.Error(a.N(), err)
				}
				if reset {
					a.Reset()
				}
			}
		})
	}
	if without, with := allocations(false), allocations(true); without >= with {
		t.Errorf("%v allocations, %v with Reset, want fewer", without, with)
	}
}

func TestAttemptsEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		body func(*retry.Attempt) (leave bool)
	}{
		{"without Fail", func(*retry.Attempt) bool { return false }},
		{"with Fail(nil)", func(a *retry.Attempt) bool { a.Fail(errBoom); a.Fail(nil); return false }},
		{"with break", func(*retry.Attempt) bool { return true }},
		{"with break after a failure", func(a *retry.Attempt) bool { a.Fail(errBoom); return true }},
	} {
		t.Run(test.name, func(t *testing.T) {
			turns := 0
			for a, err := range every(time.Hour).Attempts(t.Context()) {
				if turns++; err != nil {
					t.Error(err)
				}
				if test.body(a) {
					break
				}
			}
			if turns != 1 {
				t.Errorf("%d turns, want 1", turns)
			}
		})
	}
}

func TestAttemptsUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	turns := 0
	for a, err := range retry.Default.Attempts(ctx) {
		turns++
		a.Fail(errBoom)
		gaveUp(t, err, context.Canceled, 0, 0)
		if a.N() != 0 || a.Err() != nil {
			t.Errorf("attempt %d after %v, want none", a.N(), a.Err())
		}
	}
	if turns != 1 {
		t.Errorf("%d turns, want 1", turns)
	}
}

// A Fail after the turn, in a hook, has no effect.
func TestAttempt_FailAfterItsTurn(t *testing.T) {
	var first *retry.Attempt
	p := every(0, retry.OnRetry(func(context.Context, retry.Event) { first.Fail(errA) }))
	for a, err := range p.Attempts(t.Context()) {
		if a.N() == 2 {
			if a.Err() != errBoom || err != nil {
				t.Errorf("the first turn has failed with %v, %v, want %v", a.Err(), err, errBoom)
			}
			break
		}
		first = a
		a.Fail(errBoom)
	}
}

func TestASignalEndsEveryWaitAndStartsTheRowsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := retry.NewSignal()
		p := retry.New(backoff.Exponential(time.Second, 2), retry.Limit(3), retry.ResetOn(retry.NewSignal()), retry.ResetOn(back))
		start := time.Now()
		done := make(chan []time.Duration)
		for range 3 {
			go func() {
				var at []time.Duration
				_ = retry.Run(t.Context(), p, func(context.Context) error {
					at = append(at, time.Since(start))
					return errBoom
				})
				done <- at
			}()
		}
		// 0, 1, 3, fired at 4 in the wait of 4 s; then 1, 2 and 4 s again.
		time.Sleep(4 * time.Second)
		back.Fire()
		for range 3 {
			if got, want := <-done, []time.Duration{0, 1e9, 3e9, 4e9, 5e9, 7e9, 11e9}; !slices.Equal(got, want) {
				t.Errorf("calls at %v, want %v", got, want)
			}
		}
	})
}

func TestASignalInAnAttemptStartsTheRowAgainAtItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := retry.NewSignal()
		start, n := time.Now(), 0
		var at []time.Duration
		_ = retry.Run(t.Context(), retry.New(backoff.Linear(time.Second), retry.Limit(2), retry.ResetOn(back)), func(context.Context) error {
			at = append(at, time.Since(start))
			if n++; n == 2 {
				back.Fire()
			}
			return errBoom
		})
		if want := []time.Duration{0, 1e9, 2e9, 4e9}; !slices.Equal(at, want) {
			t.Errorf("calls at %v, want %v", at, want)
		}
	})
}

func TestASignalThatFiresBeforeTheFirstFailureIsNoReset(t *testing.T) {
	back := retry.NewSignal()
	back.Fire()
	resets := 0
	c := calls{fails: -1}
	_, err := retry.Do(t.Context(), every(0, retry.Limit(2), retry.ResetOn(back), retry.OnRetry(func(_ context.Context, e retry.Event) {
		if e.N == 1 {
			resets++
		}
	})), c.do)
	if len(c.at) != 3 || resets != 1 || !errors.Is(err, retry.ErrExhausted) {
		t.Errorf("%d calls, %d rows, %v; want 3, 1 and ErrExhausted", len(c.at), resets, err)
	}
}

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
