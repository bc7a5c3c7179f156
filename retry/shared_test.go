package retry_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// sharing is a Shared whose n-th open returns n, and what happens with it: each line has the time since the beginning.
type sharing struct {
	*retry.Shared[int]
	start time.Time
	fails map[int]error         // what opens fail with, by their number
	takes map[int]time.Duration // how long opens take
	lives []context.Context     // of the opens
	group sync.WaitGroup        // of the callers

	mu    sync.Mutex
	lines []string
}

func share(p retry.Policy) *sharing {
	s := &sharing{start: time.Now(), fails: map[int]error{}, takes: map[int]time.Duration{}}
	s.Shared = retry.NewShared(p.With(
		retry.OnRetry(func(_ context.Context, e retry.Event) { s.note("retry %d in %v: %v", e.N, e.Delay, e.Err) }),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) { s.note("gave up: %v", e.Cause) }),
		retry.OnRecovered(func(_ context.Context, r retry.Recovery) { s.note("recovered: %d retries", r.Retries) }),
		retry.OnDone(func(_ context.Context, r retry.Result) { s.note("done: %d attempts, %v", r.Attempts, r.Err) }),
	), s.open)
	return s
}

func (s *sharing) open(ctx context.Context) (int, error) {
	s.mu.Lock()
	s.lives = append(s.lives, ctx)
	n := len(s.lives)
	s.mu.Unlock()
	s.note("open %d, attempt %d", n, stream.AttemptFrom(ctx))
	if d := s.takes[n]; d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return 0, fmt.Errorf("open %d: %w", n, ctx.Err())
		}
	}
	return n, s.fails[n]
}

// life returns the context of the n-th open.
func (s *sharing) life(n int) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[n-1]
}

func (s *sharing) opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lives)
}

func (s *sharing) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprint(time.Since(s.start), " ", fmt.Sprintf(format, args...)))
}

// forget drops the lines.
func (s *sharing) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = nil
}

// caller calls f under ctx after d, and notes what Do returns.
func (s *sharing) caller(d time.Duration, name string, ctx context.Context, f func(context.Context, int) error) {
	s.group.Go(func() {
		time.Sleep(d)
		s.note("%s: %v", name, s.Do(ctx, f))
	})
}

// want fails the test unless this has happened when all callers have returned. Lines of one time may come in any order.
func (s *sharing) want(t *testing.T, want ...string) {
	t.Helper()
	s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	inOrder := func(a, b string) int {
		var at [2]time.Duration
		for i, line := range []string{a, b} {
			text, _, _ := strings.Cut(line, " ")
			at[i], _ = time.ParseDuration(text)
		}
		return cmp.Or(cmp.Compare(at[0], at[1]), strings.Compare(a, b))
	}
	slices.SortFunc(s.lines, inOrder)
	slices.SortFunc(want, inOrder)
	if !slices.Equal(s.lines, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(s.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
	s.lines = nil
}

// use is an f that succeeds.
func use(context.Context, int) error { return nil }

// refuse returns an f that finds the given values broken.
func (s *sharing) refuse(values ...int) func(context.Context, int) error {
	return func(_ context.Context, v int) error {
		s.note("call with %d", v)
		if slices.Contains(values, v) {
			return s.Broken(fmt.Errorf("refused %d", v))
		}
		return nil
	}
}

// doubling waits 1, 2, 4 … s.
func doubling(opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Exponential(time.Second, 2), opts...)
}

// lasting returns a context that ends after d.
func lasting(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// cancelledAfter returns a context that is cancelled after d: it has no deadline.
func cancelledAfter(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(d, cancel)
	t.Cleanup(func() { timer.Stop() })
	return ctx
}

// Rule 1.

func TestShared_OpensOnceForAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling())
		s.takes[1] = 3 * time.Second
		time.Sleep(time.Minute) // nothing is opened by itself
		for i := range 3 {
			s.caller(time.Duration(i)*time.Second, "caller", t.Context(), use)
		}
		s.want(t, "1m0s open 1, attempt 1", "1m3s done: 1 attempts, <nil>", "1m3s caller: <nil>", "1m3s caller: <nil>", "1m3s caller: <nil>")
		s.Close()
	})
}

type callersKey struct{}

func TestShared_OpenHasTheCallersClockAndTheAttemptOfTheRowAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := new(counting)
		ctx := stream.WithClock(retry.WithoutRetries(context.WithValue(lasting(t, time.Hour), callersKey{}, 1)), begun)
		system := stream.ClockFrom(context.Background())
		var attempts []int
		var clocks []stream.Clock // of the hooks
		hook := retry.OnAttempt(func(ctx context.Context, _ retry.AttemptEnd) { clocks = append(clocks, stream.ClockFrom(ctx)) })
		s := retry.NewShared(every(time.Second, hook), func(ctx context.Context) (int, error) {
			attempts = append(attempts, stream.AttemptFrom(ctx))
			_, limited := ctx.Deadline()
			inner := retry.Run(ctx, every(time.Second, retry.Limit(0)), func(context.Context) error { return errBoom })
			if ctx.Value(callersKey{}) != nil || limited || errors.Is(inner, retry.ErrWithoutRetries) {
				t.Errorf("open's context has what is the caller's: %v, %v, %v", ctx.Value(callersKey{}), limited, inner)
			}
			if c := stream.ClockFrom(ctx); len(attempts) == 1 && c != stream.Clock(begun) || len(attempts) > 1 && c != system {
				t.Errorf("attempt %d has the clock %T", len(attempts), c)
			}
			if len(attempts) < 3 {
				return 0, errBoom
			}
			return 1, nil
		})
		if err := s.Do(ctx, use); !errors.Is(err, retry.ErrWithoutRetries) {
			t.Error(err)
		}
		if err := s.Do(t.Context(), use); err != nil {
			t.Error(err)
		}
		if !slices.Equal(attempts, []int{1, 2, 3}) {
			t.Errorf("attempts %v", attempts)
		}
		if want := []stream.Clock{begun, system, system}; !slices.Equal(clocks, want) {
			t.Errorf("the hooks have the clocks %v", clocks)
		}
		s.Close()
	})
}

// counting is a clock that counts its timers.
type counting struct{ timers atomic.Int64 }

func (*counting) Now() time.Time { return time.Now() }

func (c *counting) AfterFunc(d time.Duration, f func()) stream.Stopper {
	c.timers.Add(1)
	return stopping{time.AfterFunc(d, func() { c.timers.Add(-1); f() }), c}
}

type stopping struct {
	*time.Timer
	clock *counting
}

func (s stopping) Stop() bool {
	stopped := s.Timer.Stop()
	if stopped {
		s.clock.timers.Add(-1)
	}
	return stopped
}

func TestShared_HasNoGoroutineAndNoTimerWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, before := new(counting), virtual.Count()
		s := share(every(time.Hour, retry.AttemptTimeout(time.Minute), retry.WithClock(clock)))
		s.fails[1] = errBoom
		s.takes[2] = time.Second
		for _, step := range []struct {
			name string
			ctx  context.Context
			f    func(context.Context, int) error
		}{
			{"a pause that all have left", cancelledAfter(t, time.Minute), use},
			{"a value", t.Context(), use},
			{"a value that broke", t.Context(), s.refuse(2)},
		} {
			_ = s.Try(step.ctx, step.f)
			synctest.Wait()
			if n, timers := virtual.Count(), clock.timers.Load(); n != before || timers != 0 {
				t.Errorf("%s: %d goroutines and %d timers, want %d and 0", step.name, n, timers, before)
			}
		}
		s.Close()
	})
}

// Rule 2.

func TestShared_ValueLivesAsLongAsOpensContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		renewed := map[int]time.Time{1: s.start.Add(time.Minute)}
		s.RenewAt(func(v int) time.Time { return renewed[v] })
		cause := func(n int, want error) {
			t.Helper()
			if got := context.Cause(s.life(n)); got != want {
				t.Errorf("after %v the context of value %d has the cause %v, want %v", time.Since(s.start), n, got, want)
			}
		}
		s.caller(0, "long", t.Context(), func(context.Context, int) error { time.Sleep(time.Hour); return nil })
		s.caller(time.Minute, "renews", t.Context(), use)
		time.Sleep(time.Hour - 1)
		cause(1, nil) // it was replaced long ago, and has a user
		time.Sleep(time.Second)
		cause(1, context.Canceled)
		cause(2, nil)
		refused := errors.New("refused")
		s.caller(0, "breaks", t.Context(), func(_ context.Context, v int) error {
			if v == 2 {
				return fmt.Errorf("call: %w", s.Broken(refused))
			}
			return nil
		})
		s.caller(0, "holds on", t.Context(), func(ctx context.Context, v int) error { time.Sleep(time.Hour); return ctx.Err() })
		synctest.Wait()
		cause(2, refused)
		time.Sleep(2 * time.Second) // it was not proven
		cause(3, nil)
		s.Close()
		cause(3, retry.ErrClosed)
	})
}

func TestShared_CloseEndsTheContextsOfAllValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		s.takes[3] = time.Hour
		s.RenewAt(func(v int) time.Time { return s.start.Add(time.Minute) })
		bound := func(_ context.Context, v int) error {
			<-s.life(v).Done()
			return context.Cause(s.life(v))
		}
		s.caller(0, "old", t.Context(), bound)
		s.caller(time.Minute, "renews", t.Context(), bound)
		s.caller(2*time.Minute, "renews again", t.Context(), bound)
		time.Sleep(3 * time.Minute)
		s.forget()
		s.Close()
		if at := time.Since(s.start); at != 3*time.Minute {
			t.Errorf("Close has returned after %v", at)
		}
		closed := retry.ErrClosed.Error()
		s.want(t, "3m0s old: "+closed, "3m0s renews: "+closed, "3m0s renews again: "+closed,
			"3m0s done: 1 attempts, "+closed+": after the failure: open 3: context canceled")
	})
}

func TestShared_AttemptTimeoutLimitsTheOpenOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second, retry.AttemptTimeout(10*time.Second)))
		s.takes[1] = time.Hour
		s.takes[2] = 10*time.Second - 1
		s.caller(0, "caller", t.Context(), use)
		s.caller(11*time.Second, "in time", t.Context(), use)
		s.want(t, "0s open 1, attempt 1", "10s retry 1 in 1s: context deadline exceeded: after the failure: open 1: context canceled",
			"11s open 2, attempt 2", "20.999999999s recovered: 1 retries", "20.999999999s done: 2 attempts, <nil>",
			"20.999999999s caller: <nil>", "20.999999999s in time: <nil>")
		time.Sleep(time.Hour)
		if err := s.life(2).Err(); err != nil {
			t.Errorf("the value's context has ended: %v", err)
		}
		s.Close()
	})
}

func TestShared_WaitsForAnOpenThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []int
		opens := 0
		s := retry.NewShared(every(time.Second, retry.AttemptTimeout(time.Second)), func(context.Context) (int, error) {
			if opens++; opens == 1 {
				time.Sleep(time.Minute)
			}
			return opens, nil
		}).CloseWith(func(v int) { closed = append(closed, v) })
		start, got := time.Now(), 0
		err := s.Do(t.Context(), func(_ context.Context, v int) error { got = v; return nil })
		if at := time.Since(start); err != nil || at != 61*time.Second || got != 2 || !slices.Equal(closed, []int{1}) {
			t.Errorf("value %d after %v, %v; closed %v", got, at, err, closed)
		}
		s.Close()
	})
}

func TestShared_TheContextOfAnOpenThatFailedHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second, retry.Limit(0)))
		s.fails[1] = errBoom
		_ = s.Do(t.Context(), use)
		if cause := context.Cause(s.life(1)); cause != context.Canceled {
			t.Errorf("its cause is %v", cause)
		}
		s.Close()
	})
}

// Rule 3.

func TestShared_ACallerThatLeavesEndsNoOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		s.takes[1] = time.Minute
		s.caller(0, "leaves", cancelledAfter(t, time.Second), use)
		s.caller(2*time.Minute, "comes later", t.Context(), use)
		s.want(t, "0s open 1, attempt 1", "1s leaves: retry: context canceled: no attempt was made",
			"2m0s comes later: <nil>", "2m0s done: 1 attempts, <nil>")
		s.Close()
	})
}

func TestShared_TheRestOfAPauseIsTheNextCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(10 * time.Second))
		s.fails[1] = errBoom
		s.caller(0, "leaves", cancelledAfter(t, time.Second), use)
		s.caller(0, "leaves too", cancelledAfter(t, 2*time.Second), use)
		s.caller(4*time.Second, "comes in the pause", t.Context(), use)
		s.caller(5*time.Second, "leaves as well", cancelledAfter(t, 6*time.Second), use)
		s.want(t, "0s open 1, attempt 1", "0s retry 1 in 10s: boom",
			"1s leaves: retry: context canceled: 1 failure in 0s: boom", "2s leaves too: retry: context canceled: 1 failure in 0s: boom",
			"6s leaves as well: retry: context canceled: 1 failure in 0s: boom",
			"10s open 2, attempt 2", "10s recovered: 1 retries", "10s done: 2 attempts, <nil>", "10s comes in the pause: <nil>")
		s.Close()
	})
}

func TestShared_NobodyOpensWhenAllHaveLeftThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(10 * time.Second))
		s.fails[1] = errBoom
		s.takes[1] = time.Second
		s.caller(0, "leaves amid the open", cancelledAfter(t, time.Millisecond), use)
		s.caller(time.Hour, "comes later", t.Context(), use)
		s.want(t, "0s open 1, attempt 1", "1ms leaves amid the open: retry: context canceled: no attempt was made", "1s retry 1 in 10s: boom",
			"1h0m0s open 2, attempt 2", "1h0m0s recovered: 1 retries", "1h0m0s done: 2 attempts, <nil>", "1h0m0s comes later: <nil>")
		s.Close()
	})
}

// Rule 4.

func TestShared_GivesUpForAllThatWait(t *testing.T) {
	permanent := retry.Permanent(errors.New("no such user"))
	for _, c := range []struct {
		name  string
		opt   retry.Option
		fails error
		want  string // the error
		cause error
	}{
		{"limit", retry.Limit(1), errBoom, "retry: limit of 1 retry: 2 failures in 1s: boom", retry.ErrLimit},
		{"permanent", retry.Limit(1), permanent, "no such user", permanent},
		{"refused", retry.If(func(error) bool { return false }), errBoom, "boom", errBoom},
		{"budget", retry.WithBudget(retry.NewBudget(1, 1, 0)), errBoom, "retry: retry budget spent: 2 failures in 1s: boom", retry.ErrBudget},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var granted, refused int64
			budget := retry.NewBudget(1, 1, 0)
			s := share(every(time.Second, retry.WithBudget(budget), c.opt))
			s.fails = map[int]error{1: c.fails, 2: c.fails}
			var errs [3]error
			for i := range errs {
				s.group.Go(func() { errs[i] = s.Do(t.Context(), use) })
			}
			s.group.Wait()
			for _, err := range errs {
				if err != errs[0] || err.Error() != c.want || !errors.Is(err, c.cause) {
					t.Errorf("%v, want %s", err, c.want)
				}
			}
			if granted, refused = budget.Stats(); granted+refused > 1 {
				t.Errorf("%d retries of the budget, %d refused", granted, refused)
			}
			s.Close()
		})
	}
}

// Rule 5.

func TestShared_RowStaysExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling(retry.Limit(2)))
		for n := range 6 {
			s.fails[n] = errBoom
		}
		for _, at := range []time.Duration{0, 3500 * time.Millisecond, 8 * time.Second, 60 * time.Second} {
			s.caller(at, "caller", t.Context(), use)
		}
		limit := "retry: limit of 2 retries: 3 failures in %s: boom%s"
		s.want(t, "0s open 1, attempt 1", "0s retry 1 in 1s: boom", "1s open 2, attempt 2", "1s retry 2 in 2s: boom", "3s open 3, attempt 3",
			"3s gave up: limit of 2 retries", "3s caller: "+fmt.Sprintf(limit, "3s", ""), "3s done: 3 attempts, "+fmt.Sprintf(limit, "3s", ""),
			"7s open 4, attempt 4", "7s gave up: limit of 2 retries",
			"7s caller: "+fmt.Sprintf(limit, "7s", " (4 attempts in 7s)"), "7s done: 4 attempts, "+fmt.Sprintf(limit, "7s", " (4 attempts in 7s)"),
			"11s open 5, attempt 5", "11s gave up: limit of 2 retries",
			"11s caller: "+fmt.Sprintf(limit, "11s", " (5 attempts in 11s)"), "11s done: 5 attempts, "+fmt.Sprintf(limit, "11s", " (5 attempts in 11s)"),
			"1m0s open 6, attempt 6", "1m0s recovered: 5 retries", "1m0s done: 6 attempts, <nil>", "1m0s caller: <nil>")
		s.Close()
	})
}

func TestShared_TheRowThatGoesOnKnowsItsLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var recovered retry.Recovery
		s := share(every(time.Second, retry.Limit(0), retry.OnRecovered(func(_ context.Context, r retry.Recovery) { recovered = r })))
		s.fails[1] = errBoom
		_ = s.Do(t.Context(), use)
		_ = s.Do(t.Context(), use)
		if recovered != (retry.Recovery{Retries: 1, Down: time.Second, Last: errBoom}) {
			t.Errorf("%+v", recovered)
		}
		s.Close()
	})
}

func TestShared_AThousandCallersASecondAreNoThousandOpens(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy retry.Policy
		opens  int // in ten seconds
	}{
		{"without a limit", every(time.Second), 11},
		{"limit", every(time.Second, retry.Limit(3)), 11},
		{"no retry", every(time.Second, retry.Limit(0)), 11},
		{"within", every(time.Second, retry.Within(3*time.Second)), 11},
		{"budget", every(time.Second, retry.WithBudget(retry.NewBudget(3, 1, 0))), 11},
		{"stopat", doubling(retry.StopAt(2 * time.Second)), 2 + 4},                             // 0, 1, 3, 5 …
		{"capped", retry.New(backoff.Exponential(time.Second, 2).Cap(3 * time.Second)), 3 + 2}, // 0, 1, 3, 6, 9
		{"refused", every(time.Second, retry.If(func(error) bool { return false })), 11},
		{"decorrelated", retry.New(backoff.Decorrelated(time.Second), retry.Limit(0), retry.WithRand(func() float64 { return 0.5 })), 6},
	} {
		bubble(t, c.name, func(t *testing.T) {
			opens := 0
			s := retry.NewShared(c.policy, func(context.Context) (int, error) { opens++; return 0, errBoom })
			var group sync.WaitGroup
			for range 100 {
				for range 100 {
					group.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
						defer cancel()
						if err := s.Do(ctx, use); err == nil {
							t.Error("no error")
						}
					})
				}
				time.Sleep(100 * time.Millisecond)
			}
			group.Wait()
			if opens != c.opens {
				t.Errorf("%d opens in ten seconds, want %d", opens, c.opens)
			}
			s.Close()
		})
	}
}

func TestShared_PausesAfterEveryEndOfARow(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func() error // of the first two opens
		opts  []retry.Option
		pause time.Duration // after the first open
		then  time.Duration // after the second
	}{
		{"limit", func() error { return errBoom }, []retry.Option{retry.Limit(1)}, 1, 2},
		{"limit 0", func() error { return errBoom }, []retry.Option{retry.Limit(0)}, 1, 1},
		{"permanent", func() error { return retry.Permanent(errBoom) }, nil, 1, 1},
		{"refused", func() error { return errBoom }, []retry.Option{retry.If(func(error) bool { return false })}, 1, 1},
		{"panic", func() error { panic("boom") }, nil, 1, 1},
		{"exit", func() error { runtime.Goexit(); return nil }, nil, 1, 1},
		{"dictated and refused", func() error { return retry.Permanent(retry.RetryAfter(errBoom, time.Minute)) }, nil, 60, 60},
		{"dictated and limit", func() error { return retry.RetryAfter(errBoom, time.Minute) }, []retry.Option{retry.Limit(0)}, 60, 60},
		{"dictated more than an hour", func() error { return retry.RetryAfter(errBoom, 24*time.Hour) }, []retry.Option{retry.MaxRetryAfter(2 * time.Hour)}, 3600, 3600},
		{"of another backoff", func() error { return errBoom }, []retry.Option{retry.Limit(0),
			retry.BackoffFor(func(err error) bool { return err.Error() == "boom" }, backoff.Constant(7*time.Second))}, 7, 7},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var opened []time.Duration
			start := time.Now()
			s := retry.NewShared(doubling(c.opts...), func(context.Context) (int, error) {
				if opened = append(opened, time.Since(start)); len(opened) < 3 {
					return 0, c.fails()
				}
				return 1, nil
			})
			var group sync.WaitGroup
			for len(opened) < 3 {
				group.Go(func() {
					defer func() { _ = recover() }()
					_ = s.Do(t.Context(), use)
				})
				group.Wait()
			}
			if want := []time.Duration{0, c.pause * time.Second, (c.pause + c.then) * time.Second}; !slices.Equal(opened, want) {
				t.Errorf("opened at %v, want %v", opened, want)
			}
			s.Close()
		})
	}
}

func TestShared_ACallerWithoutRetriesExhaustsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling(retry.Limit(2)))
		s.fails[1] = errBoom
		s.caller(0, "without", retry.WithoutRetries(t.Context()), use)
		s.caller(time.Second/2, "without", retry.WithoutRetries(t.Context()), use)
		s.caller(time.Second/2, "waits", t.Context(), use)
		without := "without: retry: limit of 0 retries: 1 failure in 0s: boom"
		s.want(t, "0s open 1, attempt 1", "0s retry 1 in 1s: boom", "0s "+without, "500ms "+without,
			"1s open 2, attempt 2", "1s recovered: 1 retries", "1s done: 2 attempts, <nil>", "1s waits: <nil>")
		s.Close()
	})
}

func TestShared_AProvenValueEndsTheRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling(retry.Limit(1)))
		s.fails[1], s.fails[2], s.fails[4] = errBoom, errBoom, errBoom
		_ = s.Do(t.Context(), use)
		_ = s.Do(t.Context(), use)
		s.forget()
		s.caller(time.Second, "breaks", t.Context(), s.refuse(3))
		s.want(t, "4s call with 3", "4s open 4, attempt 1", "4s retry 1 in 1s: boom",
			"5s open 5, attempt 2", "5s call with 5", "5s recovered: 1 retries", "5s done: 2 attempts, <nil>", "5s breaks: <nil>")
		s.Close()
	})
}

func TestShared_ASignalEndsThePauseAndTheRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := retry.NewSignal()
		s := share(doubling(retry.Limit(1), retry.ResetOn(signal)))
		for n := range 6 {
			s.fails[n] = errBoom
		}
		s.caller(0, "caller", t.Context(), use)
		s.caller(1500*time.Millisecond, "waits", t.Context(), use)
		time.Sleep(2 * time.Second)
		signal.Fire()
		limit := "retry: limit of 1 retry: 2 failures in 1s: boom"
		again := "retry: limit of 1 retry: 2 failures in 1s: boom (4 attempts in 3s)"
		s.want(t, "0s open 1, attempt 1", "0s retry 1 in 1s: boom", "1s open 2, attempt 2", "1s gave up: limit of 1 retry", "1s caller: "+limit, "1s done: 2 attempts, "+limit,
			"2s open 3, attempt 3", "2s retry 1 in 1s: boom", "3s open 4, attempt 4", "3s gave up: limit of 1 retry", "3s waits: "+again, "3s done: 4 attempts, "+again)
		signal.Fire() // while nobody waits
		s.caller(0, "waits for nothing", retry.WithoutRetries(t.Context()), use)
		last := "retry: limit of 0 retries: 1 failure in 0s: boom (5 attempts in 3s)"
		s.want(t, "3s open 5, attempt 5", "3s retry 1 in 1s: boom", "3s waits for nothing: "+last)
		s.Close()
	})
}

// Rule 6.

func TestShared_ACallerDoesNotWaitInVain(t *testing.T) {
	dictates := func(d time.Duration) error { return retry.RetryAfter(errBoom, d) }
	deadline := func(d time.Duration) func(*testing.T) context.Context {
		return func(t *testing.T) context.Context { return lasting(t, d) }
	}
	background := func(t *testing.T) context.Context { return t.Context() }
	for _, c := range []struct {
		name  string
		fails error
		opts  []retry.Option
		ctx   func(*testing.T) context.Context
		want  error // at 5 s; nil: it waits until 10 s
	}{
		{"without retries", errBoom, nil, func(t *testing.T) context.Context { return retry.WithoutRetries(t.Context()) }, retry.ErrWithoutRetries},
		{"deadline at the end", errBoom, nil, deadline(5 * time.Second), retry.ErrDeadline},
		{"deadline after the end", errBoom, nil, deadline(5*time.Second + 1), nil},
		{"no deadline", errBoom, nil, background, nil},
		{"dictated too much", dictates(10 * time.Second), []retry.Option{retry.MaxRetryAfter(5*time.Second - 1)}, background, retry.ErrMaxRetryAfter},
		{"dictated", dictates(10 * time.Second), []retry.Option{retry.MaxRetryAfter(5 * time.Second)}, background, nil},
		{"dictated without a limit", dictates(10 * time.Second), nil, background, nil},
		{"not dictated", errBoom, []retry.Option{retry.MaxRetryAfter(time.Second)}, background, nil},
		{"exhausted", errBoom, []retry.Option{retry.Limit(0)}, background, nil},
		{"exhausted, deadline", errBoom, []retry.Option{retry.Limit(0)}, deadline(5 * time.Second), retry.ErrDeadline},
		{"dictated, deadline", dictates(10 * time.Second), nil, deadline(5 * time.Second), retry.ErrDeadline},
		{"permanent", retry.Permanent(errBoom), nil, deadline(5 * time.Second), retry.ErrDeadline},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := share(every(10*time.Second, c.opts...))
			s.fails[1] = c.fails
			s.caller(0, "", cancelledAfter(t, 1), use)
			time.Sleep(5 * time.Second)
			err := s.Do(c.ctx(t), use)
			at := time.Since(s.start)
			if c.want == nil {
				if err != nil || at != 10*time.Second {
					t.Errorf("%v after %v", err, at)
				}
			} else if e, ok := errors.AsType[*retry.Error](err); !ok || at != 5*time.Second || !errors.Is(e.Cause, c.want) || e.Last != c.fails {
				t.Errorf("%v after %v, want %v", err, at, c.want)
			}
			s.Close()
		})
	}
}

func TestShared_TheEndOfACallersContextIsAnErrorWithTheLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Minute, retry.Name("token")))
		s.fails[1] = errBoom
		errGone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errGone) })
		called := false
		check := func(err error, want string) {
			t.Helper()
			if err == nil || err.Error() != want || called {
				t.Errorf("%v, want %s; f was called: %v", err, want, called)
			}
		}
		f := func(context.Context, int) error { called = true; return nil }
		err := s.Do(ctx, f)
		check(err, "retry: token: gone: 1 failure in 0s: boom")
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) || !errors.Is(err, errGone) {
			t.Errorf("%v matches not all", err)
		}
		check(s.Do(ctx, f), "retry: token: gone: 1 failure in 0s: boom")
		s.Close()
		ended := share(every(time.Minute, retry.Name("token")))
		check(ended.Do(ctx, f), "retry: token: gone: no attempt was made")
		if err := ended.Do(t.Context(), use); err != nil {
			t.Error(err)
		}
		check(ended.Do(ctx, f), "retry: token: gone: no attempt was made")
		ended.Close()
	})
}
