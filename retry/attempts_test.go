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

func TestAttemptsResetStartsTheRowAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		for a, err := range retry.New(backoff.Linear(time.Second), retry.Limit(2)).Attempts(t.Context()) {
			if err != nil {
				gaveUp(t, err, retry.ErrExhausted, 5, 6*time.Second)
				break
			}
			at = append(at, time.Since(start))
			if a.N() == 3 {
				a.Reset()
			}
			a.Fail(errBoom)
		}
		if want := []time.Duration{0, 1e9, 3e9, 4e9, 6e9}; !slices.Equal(at, want) {
			t.Errorf("turns at %v, want %v", at, want)
		}
	})
}

func TestAttemptsGivesPermanentAndRefusedErrorsAsTheyAre(t *testing.T) {
	p := every(0, retry.If(func(err error) bool { return err == errBoom }))
	for _, fail := range []error{retry.Permanent(errBoom), errors.New("refused")} {
		var got []error
		for a, err := range p.Attempts(t.Context()) {
			got = append(got, err)
			a.Fail(fail)
		}
		if !slices.Equal(got, []error{nil, fail}) {
			t.Errorf("got %v, want a turn and %v", got, fail)
		}
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

func TestAttemptsIsCancelledInItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		var last error
		for a, err := range every(time.Hour).Attempts(ctx) {
			last = err
			a.Fail(errBoom)
		}
		gaveUp(t, last, context.Canceled, 1, time.Minute)
	})
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
