package retry_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

var (
	errBoom = errors.New("boom")
	bubble  = check.Bubble
)

func TestDo_StartsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, before, attempts := virtual.Current().ID, virtual.Count(), 0
		err := retry.Run(t.Context(), every(time.Second, retry.Limit(3)), func(context.Context) error {
			attempts++
			if id, n := virtual.Current().ID, virtual.Count(); id != caller || n > before {
				t.Errorf("attempt %d runs on goroutine %d of %d, want %d of %d", attempts, id, n, caller, before)
			}
			return errBoom
		})
		if attempts != 4 || !errors.Is(err, errBoom) {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}

// calls is a function that fails a given number of times, and records when it was called.
type calls struct {
	start time.Time
	at    []time.Duration
	fails int // number of calls that fail; -1: all
	err   error
	takes time.Duration
}

func (c *calls) do(context.Context) (int, error) {
	if c.start.IsZero() {
		c.start = time.Now()
	}
	c.at = append(c.at, time.Since(c.start))
	if c.takes > 0 {
		time.Sleep(c.takes)
	}
	if c.fails < 0 || len(c.at) <= c.fails {
		if c.err != nil {
			return len(c.at), c.err
		}
		return len(c.at), errBoom
	}
	return len(c.at), nil
}

// want fails the test unless the calls came at these seconds.
func (c *calls) want(t *testing.T, seconds ...float64) {
	t.Helper()
	var want []time.Duration
	for _, s := range seconds {
		want = append(want, time.Duration(s*float64(time.Second)))
	}
	if !slices.Equal(c.at, want) {
		t.Errorf("calls at %v, want %v", c.at, want)
	}
}

// gaveUp fails the test unless err is an *Error with this cause and number of attempts and with the last error.
func gaveUp(t *testing.T, err, cause error, attempts int, elapsed time.Duration) *retry.Error {
	t.Helper()
	e, ok := errors.AsType[*retry.Error](err)
	if !ok {
		t.Fatalf("got %v (%[1]T), want an *Error", err)
	}
	if !errors.Is(err, cause) || e.Attempts != attempts || e.Elapsed != elapsed {
		t.Errorf("got %v; want cause %v, %d attempts, %v", err, cause, attempts, elapsed)
	}
	return e
}

func every(d time.Duration, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(d), opts...)
}

func TestGivingUp(t *testing.T) {
	half := retry.WithRand(func() float64 { return 0.5 })
	for _, test := range []struct {
		name    string
		policy  retry.Policy
		err     error
		cause   error
		seconds []float64
	}{
		{"Limit", every(time.Second, retry.Limit(2)), nil, retry.ErrExhausted, []float64{0, 1, 2}},
		{"Limit 0", every(time.Second, retry.Limit(0)), nil, retry.ErrExhausted, []float64{0}},
		{"Within, inclusive", every(time.Second, retry.Within(3*time.Second)), nil, retry.ErrExhausted, []float64{0, 1, 2, 3}},
		{"Within, exclusive", every(time.Second, retry.Within(3*time.Second-1)), nil, retry.ErrExhausted, []float64{0, 1, 2}},
		{"StopAt", retry.New(backoff.Exponential(time.Second, 2), retry.StopAt(4*time.Second)), nil, retry.ErrExhausted, []float64{0, 1, 3}},
		{"StopAt looks at the ceiling", retry.New(backoff.Constant(time.Second).Jitter(jitter.Full), retry.StopAt(time.Second)), nil, retry.ErrExhausted, []float64{0}},
		{"Default", retry.Default.With(half), nil, retry.ErrLimit, []float64{0, 1, 3, 7, 15}},
		{"Default, and a minute is dictated each time", retry.Default.With(half), retry.RetryAfter(errBoom, time.Minute), retry.ErrLimit, []float64{0, 64.5, 129, 193.5, 258}},
		{"Default, and more than a minute is dictated", retry.Default.With(half), retry.RetryAfter(errBoom, time.Minute+1), retry.ErrMaxRetryAfter, []float64{0}},
		{"Default that waits for any time", retry.Default.With(half, retry.MaxRetryAfter(math.MaxInt64), retry.Limit(1)), retry.RetryAfter(errBoom, 24*time.Hour), retry.ErrLimit, []float64{0, 92880}},
		{"Default with more retries", retry.Default.With(half, retry.Limit(6)), nil, retry.ErrLimit, []float64{0, 1, 3, 7, 15, 31, 63}},
		{"Default with longer waits", retry.Default.With(retry.WithBackoff(backoff.Constant(15 * time.Second))), nil, retry.ErrLimit, []float64{0, 15, 30, 45, 60}},
		{"a dictated delay", every(time.Hour, retry.Limit(2)), retry.RetryAfter(errBoom, 3*time.Second), retry.ErrExhausted, []float64{0, 3, 6}},
		{"a dictated delay is not StopAt's", every(time.Second, retry.Limit(1), retry.StopAt(2*time.Second)), retry.RetryAfter(errBoom, 3*time.Second), retry.ErrExhausted, []float64{0, 3}},
		{"a dictated delay of 0 says nothing", every(time.Second, retry.Limit(2)), retry.RetryAfter(errBoom, 0), retry.ErrExhausted, []float64{0, 1, 2}},
		{"a negative dictated delay says nothing", every(time.Second, retry.Limit(2)), retry.RetryAfter(errBoom, -time.Hour), retry.ErrExhausted, []float64{0, 1, 2}},
		{"MaxRetryAfter", every(time.Second, retry.MaxRetryAfter(3*time.Second-1)), retry.RetryAfter(errBoom, 3*time.Second), retry.ErrExhausted, []float64{0}},
		{"MaxRetryAfter, inclusive", every(time.Second, retry.Limit(1), retry.MaxRetryAfter(3*time.Second)), retry.RetryAfter(errBoom, 3*time.Second), retry.ErrExhausted, []float64{0, 3}},
		{"a dictated delay past Within", every(time.Second, retry.Within(time.Minute)), retry.RetryAfter(errBoom, time.Hour), retry.ErrExhausted, []float64{0}},
		{"a budget", every(time.Second, retry.WithBudget(retry.NewBudget(2, 1, 0))), nil, retry.ErrBudget, []float64{0, 1, 2}},
	} {
		bubble(t, test.name, func(t *testing.T) {
			c := calls{fails: -1, err: test.err}
			v, err := retry.Do(t.Context(), test.policy, c.do)
			c.want(t, test.seconds...)
			last := time.Duration(test.seconds[len(test.seconds)-1] * float64(time.Second))
			e := gaveUp(t, err, test.cause, len(test.seconds), last)
			if !errors.Is(err, errBoom) || !errors.Is(e.Last, errBoom) {
				t.Errorf("got %v, want the last error in it", err)
			}
			if v != len(test.seconds) {
				t.Errorf("got the value %v, want that of the last call", v)
			}
		})
	}
}

func TestADictatedDelayIsALeastOne(t *testing.T) {
	draws := func(u float64) retry.Option { return retry.WithRand(func() float64 { return u }) }
	for _, test := range []struct {
		name    string
		policy  retry.Policy
		want    float64 // seconds
		timeout time.Duration
	}{
		{"exact without jitter", every(time.Hour), 10, 0},
		{"full jitter", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Full), draws(0.5)), 10.75, 0},
		{"default jitter at its least", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Default), draws(0)), 10, 0},
		{"within half of the room that Within leaves", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Full), draws(0.5), retry.Within(12*time.Second)), 10.5, 0},
		{"within half of the room before the deadline", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Full), draws(0.5)), 10.5, 12 * time.Second},
		{"the room of the deadline is the smaller one", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Equal), draws(0.5), retry.Within(time.Hour)), 10.5, 12 * time.Second},
		{"that of Within is", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Default), draws(0.5), retry.Within(12*time.Second)), 10.5, time.Hour},
		{"there is none", retry.New(backoff.Constant(time.Hour).Jitter(jitter.Full), draws(0.5), retry.Within(10*time.Second)), 10, 0},
		{"tiled", retry.New(backoff.Linear(time.Hour).Tiled(), draws(0.5)), 10.75, 0},
		{"decorrelated", retry.New(backoff.Decorrelated(time.Hour), draws(0.5)), 10.75, 0},
	} {
		bubble(t, test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.timeout, 1000*time.Hour))
			defer cancel()
			c := calls{fails: 1, err: retry.RetryAfter(errBoom, 10*time.Second)}
			if _, err := retry.Do(ctx, test.policy, c.do); err != nil {
				t.Error(err)
			}
			c.want(t, 0, test.want)
		})
	}
}

// asker is an error type of somebody else's.
type asker struct{ d time.Duration }

func (a asker) Error() string             { return "busy" }
func (a asker) RetryAfter() time.Duration { return a.d }

// A fleet that is told a minute comes back evenly within 69 s, whatever the jitter: with full jitter it was 120 s.
func TestAFleetThatIsToldAMinute(t *testing.T) {
	for _, b := range []backoff.Backoff{
		backoff.Exponential(time.Second, 2).Jitter(jitter.Full), backoff.Exponential(time.Second, 2).Jitter(jitter.Equal),
		backoff.Exponential(time.Second, 2).Jitter(jitter.Default), backoff.Exponential(time.Second, 2).Tiled(), backoff.Decorrelated(time.Second),
	} {
		for i := range 100 {
			p := retry.New(b, retry.WithRand(func() float64 { return float64(i) / 100 }))
			op := p.Start(t.Context())
			got, end := op.Failed(retry.Outcome{Err: retry.RetryAfter(errBoom, time.Minute)})
			if want := time.Minute + time.Duration(i)*90*time.Millisecond; got != want || end != nil {
				t.Errorf("%v: client %d of 100 waits %v, want %v; %v", b, i, got, want, end)
			}
		}
	}
}

func TestAWaitPastTheDeadlineIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c := calls{fails: -1}
		_, err := retry.Do(ctx, every(time.Second), c.do)
		c.want(t, 0, 1)
		gaveUp(t, err, retry.ErrDeadline, 2, time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBoom) || time.Since(c.start) != time.Second {
			t.Errorf("got %v after %v; want DeadlineExceeded and the last error in it after 1s", err, time.Since(c.start))
		}
	})
}

func TestPermanentAndRefusedErrorsAreReturnedAsTheyAre(t *testing.T) {
	refused := errors.New("refused")
	wrapped := fmt.Errorf("wrapped: %w", retry.Permanent(errBoom))
	for _, test := range []struct {
		name string
		err  error
	}{
		{"permanent", retry.Permanent(errBoom)},
		{"permanent, wrapped", wrapped},
		{"permanent, joined", errors.Join(errBoom, wrapped)},
		{"refused", refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			told := 0
			p := every(time.Hour, retry.If(func(err error) bool { return !errors.Is(err, refused) }),
				retry.OnGiveUp(func(context.Context, *retry.Error) { told++ }), retry.OnRetry(func(context.Context, retry.Event) { told++ }))
			c := calls{fails: -1, err: test.err}
			if v, err := retry.Do(t.Context(), p, c.do); v != 1 || err != test.err || len(c.at) != 1 || told != 0 {
				t.Errorf("got %v, %v after %d calls, hooks called %d times; want 1, %v after one, unasked", v, err, len(c.at), told, test.err)
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	reason := errors.New("going home")
	t.Run("before the first call", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(reason)
		c := calls{}
		_, err := retry.Do(ctx, every(0), c.do)
		gaveUp(t, err, reason, 0, 0)
		c.want(t)
	})
	t.Run("a success though cancelled is a success", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := retry.Run(ctx, every(0), func(context.Context) error { cancel(); return nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestTheContextIsPassedAsItIs(t *testing.T) {
	ctx := context.WithValue(t.Context(), calls{}.takes, 1)
	err := retry.Run(ctx, retry.Default, func(got context.Context) error {
		if got != ctx {
			t.Error("another context")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAttemptTimeout(t *testing.T) {
	slow := func(started *int) func(context.Context) error {
		return func(ctx context.Context) error {
			if *started++; *started == 3 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	bubble(t, "a success that comes late is one", func(t *testing.T) {
		called := 0
		err := retry.Run(t.Context(), every(0, retry.AttemptTimeout(time.Second)), func(context.Context) error {
			called++
			time.Sleep(time.Minute)
			return nil
		})
		if err != nil || called != 1 {
			t.Errorf("got %v after %d calls", err, called)
		}
	})
	bubble(t, "on an injected clock", func(t *testing.T) {
		mock, started, done := clock.NewMock(), 0, make(chan error, 1)
		p := every(time.Second, retry.AttemptTimeout(10*time.Second), retry.WithClock(mock), retry.Limit(2))
		var seen []error
		p = p.With(retry.OnRetry(func(_ context.Context, e retry.Event) { seen = append(seen, e.Err) }))
		go func() { done <- retry.Run(t.Context(), p, slow(&started)) }()
		for _, d := range []time.Duration{10, 1, 10, 1} {
			synctest.Wait()
			mock.Add(d * time.Second)
		}
		synctest.Wait()
		if err := <-done; err != nil || started != 3 {
			t.Errorf("got %v after %d calls", err, started)
		}
		if !slices.Equal(seen, []error{context.DeadlineExceeded, context.DeadlineExceeded}) {
			t.Errorf("the calls failed with %v, want DeadlineExceeded", seen)
		}
	})
}

// What is derived from a call's context ends as that does, on any clock.
func TestAttemptTimeout_OfDerivedContexts(t *testing.T) {
	ending := func(t *testing.T, parent context.Context, opts ...retry.Option) (errs [][2]error) {
		p := retry.New(backoff.Backoff{}, append(opts, retry.AttemptTimeout(10*time.Second), retry.Limit(0))...)
		_ = retry.Run(parent, p, func(ctx context.Context) error {
			cancelled, cancel := context.WithCancel(ctx)
			defer cancel()
			timed, cancel := context.WithTimeout(cancelled, time.Hour)
			defer cancel()
			valued := context.WithValue(timed, t, 1)
			after := make(chan struct{})
			context.AfterFunc(valued, func() { close(after) })
			<-after
			for _, c := range []context.Context{ctx, cancelled, timed, valued} {
				<-c.Done()
				errs = append(errs, [2]error{c.Err(), context.Cause(c)})
			}
			return errBoom
		})
		return errs
	}
	for name, opts := range map[string][]retry.Option{"system": nil, "injected": {retry.WithClock(wallClock{})}} {
		bubble(t, name, func(t *testing.T) {
			timeout := [2]error{context.DeadlineExceeded, context.DeadlineExceeded}
			if got := ending(t, t.Context(), opts...); !slices.Equal(got, slices.Repeat([][2]error{timeout}, 4)) {
				t.Errorf("timed out: %v", got)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errBoom) })
			if got := ending(t, ctx, opts...); !slices.Equal(got, slices.Repeat([][2]error{{context.Canceled, errBoom}}, 4)) {
				t.Errorf("cancelled: %v", got)
			}
		})
		bubble(t, name+", when the call is over", func(t *testing.T) {
			var derived context.Context
			var cancel context.CancelFunc
			p := retry.New(backoff.Backoff{}, append(opts, retry.AttemptTimeout(10*time.Second))...)
			err := retry.Run(t.Context(), p, func(ctx context.Context) error {
				derived, cancel = context.WithCancel(ctx)
				return nil
			})
			defer cancel()
			<-derived.Done()
			if err != nil || derived.Err() != context.Canceled || context.Cause(derived) != context.Canceled {
				t.Errorf("%v, %v, %v", err, derived.Err(), context.Cause(derived))
			}
		})
	}
}

// wallClock is the system's clock, taken for another one.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

func TestTheBudgetIsAskedLastAndNotForNothing(t *testing.T) {
	budget := retry.NewBudget(10, 1, 0)
	c := calls{fails: -1}
	_, _ = retry.Do(t.Context(), every(0, retry.Limit(3), retry.WithBudget(budget)), c.do)
	if budget.Tokens() != 7 {
		t.Errorf("%v tokens left, want 7: the failure past the limit costs nothing", budget.Tokens())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, _ = retry.Do(ctx, every(2*time.Hour, retry.WithBudget(budget)), c.do)
	if budget.Tokens() != 7 {
		t.Errorf("%v tokens left, want 7: a wait past the deadline costs nothing", budget.Tokens())
	}
}

func TestWithLeavesThePolicyAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		say := func(s string) retry.Option {
			return retry.OnRetry(func(context.Context, retry.Event) { told.WriteString(s) })
		}
		base := every(time.Second, retry.Limit(1), say("base "))
		one, two := base.With(say("one ")), base.With(say("two "), retry.Limit(2), retry.WithBackoff(backoff.Constant(time.Minute)))
		for _, p := range []retry.Policy{base, one, two} {
			c := calls{fails: -1}
			_, _ = retry.Do(t.Context(), p, c.do)
			told.WriteString("| ")
		}
		if want := "base | base one | base two base two | "; told.String() != want {
			t.Errorf("got %q, want %q", told.String(), want)
		}
	})
}

func TestTheZeroPolicyIsDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := retry.WithRand(func() float64 { return 0.5 })
		for _, p := range []retry.Policy{retry.Policy{}.With(half), retry.Default.With(half)} {
			c := calls{fails: -1}
			_, err := retry.Do(t.Context(), p, c.do)
			if c.want(t, 0, 1, 3, 7, 15); !errors.Is(err, retry.ErrLimit) {
				t.Errorf("got %v", err)
			}
		}
		var p retry.Policy
		if p.String() != retry.Default.String() || !plain(p) {
			t.Errorf("got %v", p)
		}
		// An option without a word in the text is off, in the zero Policy too.
		if err := p.UnmarshalText([]byte("constant d=1s")); err != nil || p.String() != "constant d=1s" {
			t.Errorf("got %v, %v", p, err)
		}
	})
}

func TestNewWithoutABackoffRetriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calls{fails: 1000}
		v, err := retry.Do(t.Context(), retry.New(backoff.Backoff{}), c.do)
		if v != 1001 || err != nil || time.Since(c.start) != 0 {
			t.Errorf("got %v, %v", v, err)
		}
	})
}

func TestTiledKeepsItsPlaceForARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draws := []float64{0.5, 0.25}
		p := retry.New(backoff.Linear(8*time.Second).Tiled(), retry.Limit(3), retry.ResetAfter(time.Hour),
			retry.WithRand(func() float64 { u := draws[0]; draws = draws[1:]; return u }))
		start, n := time.Now(), 0
		var at []float64
		_ = retry.Run(t.Context(), p, func(context.Context) error {
			at = append(at, time.Since(start).Seconds())
			if n++; n == 3 {
				time.Sleep(time.Hour)
			}
			return errBoom
		})
		// w = 8, 16, 24: 4, 8+½·8, then a healthy hour and a new place: 2, 8+¼·8, 16+¼·8.
		if want := []float64{0, 4, 16, 3618, 3628, 3646}; !slices.Equal(at, want) {
			t.Errorf("calls at %v, want %v", at, want)
		}
	})
}

func TestDecorrelatedGoesOnFromItsLastDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delays []time.Duration
		p := retry.New(backoff.Decorrelated(time.Second), retry.WithRand(func() float64 { return 0.5 }), retry.ResetAfter(time.Hour),
			retry.OnRetry(func(_ context.Context, e retry.Event) { delays = append(delays, e.Delay) }))
		n := 0
		_ = retry.Run(t.Context(), p, func(context.Context) error {
			if n++; n == 3 {
				time.Sleep(time.Hour)
			}
			return failNow(5 - n)(t.Context())
		})
		if want := []time.Duration{2e9, 3.5e9, 2e9, 3.5e9}; !slices.Equal(delays, want) {
			t.Errorf("with a reset at the third failure: %v, want %v", delays, want)
		}
	})
}

func TestPanicsNameTheArgument(t *testing.T) {
	for want, f := range map[string]func(){
		"retry: Limit: n is -1, want at least 0":                                           func() { retry.Limit(-1) },
		"retry: Within: d is -1ns, want at least 0":                                        func() { retry.Within(-1) },
		"retry: StopAt: d is -1ns, want at least 0":                                        func() { retry.StopAt(-1) },
		"retry: MaxRetryAfter: d is -1ns, want at least 0":                                 func() { retry.MaxRetryAfter(-1) },
		"retry: AttemptTimeout: d is 0s, want more than 0":                                 func() { retry.AttemptTimeout(0) },
		"retry: ResetAfter: d is 0s, want more than 0":                                     func() { retry.ResetAfter(0) },
		"retry: ResetAfterItems: n is 0, want more than 0":                                 func() { retry.ResetAfterItems(0) },
		"retry: If: retryable is nil":                                                      func() { retry.If(nil) },
		"retry: LimitFor: match is nil":                                                    func() { retry.LimitFor(nil, 1) },
		"retry: LimitFor: n is -1, want at least 0":                                        func() { retry.LimitFor(retry.IsPermanent, -1) },
		"retry: BackoffFor: match is nil":                                                  func() { retry.BackoffFor(nil, backoff.Default) },
		"retry: OnRetry: f is nil":                                                         func() { retry.OnRetry(nil) },
		"retry: OnRecovered: f is nil":                                                     func() { retry.OnRecovered(nil) },
		"retry: OnDone: f is nil":                                                          func() { retry.OnDone(nil) },
		"retry: Name: name is empty":                                                       func() { retry.Name("") },
		"retry: OnAttempt: f is nil":                                                       func() { retry.OnAttempt(nil) },
		"retry: OnOutage: begin is nil":                                                    func() { retry.OnOutage(nil) },
		"retry: OnGiveUp: f is nil":                                                        func() { retry.OnGiveUp(nil) },
		"retry: ResetOn: s is nil":                                                         func() { retry.ResetOn(nil) },
		"retry: WithRand: f is nil":                                                        func() { retry.WithRand(nil) },
		"retry: WithBudget: b is the zero Budget, want one of NewBudget":                   func() { retry.WithBudget(new(retry.Budget)) },
		"retry: WithBudget: b is nil":                                                      func() { retry.WithBudget(nil) },
		"retry: New: opts[1] is nil":                                                       func() { retry.New(backoff.Backoff{}, retry.Limit(1), nil) },
		"retry: JoinOptions: opts[1] is nil":                                               func() { retry.JoinOptions(retry.Limit(1), nil) },
		"retry: With: opts[0] is nil":                                                      func() { retry.Default.With(nil) },
		"retry: Do: f is nil":                                                              func() { _, _ = retry.Do[int](t.Context(), retry.Default, nil) },
		"retry: Run: f is nil":                                                             func() { _ = retry.Run(t.Context(), retry.Default, nil) },
		"retry: Policy.Handle: failures is nil":                                            func() { retry.Default.Handle(nil) },
		"retry: NewBudget: capacity is -1, want a finite number of at least 0":             func() { retry.NewBudget(-1, 1, 1) },
		"retry: NewBudget: cost is -1, want a finite number of at least 0":                 func() { retry.NewBudget(1, -1, 1) },
		"retry: NewBudget: refund is +Inf, want a finite number of at least 0":             func() { retry.NewBudget(1, 1, math.Inf(1)) },
		"retry: Budget.Refill: perSecond is NaN, want a finite number of at least 0":       func() { retry.NewBudget(1, 1, 1).Refill(math.NaN()) },
		"retry: WithClock: c is nil":                                                       func() { retry.WithClock[*time.Timer](nil) },
		"retry: NewBudget: cost is 0, want more: retries that cost nothing need no budget": func() { retry.NewBudget(1, 0, 1) },
		"retry: NewBudget: capacity is 1, want at least the cost of one retry, 2":          func() { retry.NewBudget(1, 2, 1) },
		"retry: Budget.Refill: perSecond is -1, want a finite number of at least 0":        func() { retry.NewBudget(1, 1, 1).Refill(-1) },
	} {
		check.Panics(t, want, f)
	}
}
