package retry_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Rule 7.

func TestShared_FGetsTheCallersContextAndIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second, retry.AttemptTimeout(time.Second)))
		ctx := context.WithValue(t.Context(), callersKey{}, 1)
		calls := 0
		err := s.Do(ctx, func(got context.Context, v int) error {
			calls++
			time.Sleep(time.Minute)
			if got != ctx || v != 1 {
				t.Errorf("f has %v and %d", got, v)
			}
			return errBoom
		})
		if err != errBoom || calls != 1 || s.opens() != 1 {
			t.Errorf("%v after %d calls and %d opens", err, calls, s.opens())
		}
		s.Close()
	})
}

func TestShared_DoCallsTwiceWithAValueThatWasThereAndTryOnce(t *testing.T) {
	do, try := (*retry.Shared[int]).Do, (*retry.Shared[int]).Try
	for _, c := range []struct {
		name  string
		call  func(*retry.Shared[int], context.Context, func(context.Context, int) error) error
		there bool
		good  int   // the first value that is not refused
		calls []int // the values
		err   string
	}{
		{"Do, good", do, true, 1, []int{1}, "<nil>"},
		{"Do, it was there", do, true, 2, []int{1, 2}, "<nil>"},
		{"Do, it was there and the next one is refused", do, true, 9, []int{1, 2}, "refused 2"},
		{"Do, it was opened for the call", do, false, 9, []int{1}, "refused 1"},
		{"Try, it was there", try, true, 9, []int{1}, "refused 1"},
		{"Try, it was opened for the call", try, false, 9, []int{1}, "refused 1"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := share(every(time.Second))
			if c.there {
				_ = s.Do(t.Context(), use)
			}
			time.Sleep(time.Minute)
			var calls []int
			err := c.call(s.Shared, t.Context(), func(_ context.Context, v int) error {
				if calls = append(calls, v); v < c.good {
					return s.Broken(fmt.Errorf("refused %d", v))
				}
				return nil
			})
			if !slices.Equal(calls, c.calls) || fmt.Sprint(err) != c.err || time.Since(s.start) != time.Minute {
				t.Errorf("called with %v, %v, after %v", calls, err, time.Since(s.start))
			}
			s.Close()
		})
	}
}

func TestShared_OneRenewsForAllThatWereRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		s.takes[2] = time.Minute
		_ = s.Do(t.Context(), use)
		time.Sleep(time.Hour)
		var mu sync.Mutex
		calls := map[int]int{}
		for i := range 100 {
			s.caller(time.Duration(i)*400*time.Millisecond, "caller", t.Context(), func(_ context.Context, v int) error {
				mu.Lock()
				calls[v]++
				mu.Unlock()
				if v == 1 {
					time.Sleep(time.Second / 2)
					return s.Broken(errBoom)
				}
				return nil
			})
		}
		s.group.Wait()
		if s.opens() != 2 || calls[1] != 2 || calls[2] != 100 {
			t.Errorf("%d opens; calls with each value: %v", s.opens(), calls)
		}
		s.Close()
	})
}

func TestShared_Marks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := share(every(0)), share(every(0))
		goroutines := func() int {
			synctest.Wait() // an open's goroutine ends after the call that waited for it
			return virtual.Count()
		}
		if s.Broken(nil) != nil {
			t.Error("Broken(nil) is no nil")
		}
		deep := retry.Permanent(retry.RetryAfter(errBoom, time.Second))
		marked := s.Broken(deep)
		if _, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](marked); marked.Error() != "boom" || !errors.Is(marked, errBoom) || !ok || !retry.IsPermanent(marked) {
			t.Errorf("the mark hides what %v has", deep)
		}
		for _, c := range []struct {
			name     string
			err      error
			returned error // nil: unchanged
			broken   bool
		}{
			{"at the top", marked, deep, true},
			{"wrapped", fmt.Errorf("call: %w", marked), nil, true},
			{"joined", errors.Join(errCut, marked), nil, true},
			{"twice", s.Broken(marked), marked, true},
			{"around another's", s.Broken(other.Broken(errBoom)), other.Broken(errBoom), true},
			{"inside another's", other.Broken(fmt.Errorf("call: %w", marked)), nil, true},
			{"another's", other.Broken(errBoom), nil, false},
			{"of the same type", share(every(0)).Broken(errBoom), nil, false},
			{"none", errors.Join(errBoom, nil, fmt.Errorf("%w", errCut)), nil, false},
		} {
			_ = s.Do(t.Context(), use)
			opens, before := s.opens(), goroutines()
			err := s.Try(t.Context(), func(context.Context, int) error { return c.err })
			switch {
			case c.returned == nil && err != c.err:
				t.Errorf("%s: returned %#v, want it unchanged", c.name, err)
			case c.returned != nil && (fmt.Sprintf("%T", err) != fmt.Sprintf("%T", c.returned) || !errors.Is(err, errBoom)):
				t.Errorf("%s: returned %#v, want %#v", c.name, err, c.returned)
			}
			_ = s.Do(t.Context(), use)
			if broken, n := s.opens() > opens, goroutines(); broken != c.broken || n != before {
				t.Errorf("%s: broken: %v; %d goroutines, want %d", c.name, broken, n, before)
			}
		}
		s.Close()
	})
}

var errCut = errors.New("cut")

func TestShared_AMarkInsideAnotherSharedKeepsTheOuterValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := share(every(time.Second))
		session := share(every(time.Second))
		call := func() error {
			return session.Do(t.Context(), func(ctx context.Context, id int) error {
				return token.Do(ctx, func(_ context.Context, v int) error {
					token.note("session %d, token %d", id, v)
					if v == 1 && time.Since(token.start) > 0 {
						return token.Broken(errBoom)
					}
					return nil
				})
			})
		}
		_ = call()
		time.Sleep(time.Minute)
		if err := call(); err != nil {
			t.Error(err)
		}
		token.want(t, "0s open 1, attempt 1", "0s session 1, token 1", "0s done: 1 attempts, <nil>",
			"1m0s session 1, token 1", "1m0s open 2, attempt 1", "1m0s session 1, token 2", "1m0s done: 1 attempts, <nil>")
		session.Close()
		token.Close()
	})
}

// Rule 8.

func TestShared_AProvenValueThatBreaksIsOpenedAtOnceButNotSoonerThanTheFirstDelay(t *testing.T) {
	for _, c := range []struct{ breaks, opens time.Duration }{
		{0, 10 * time.Second}, {3 * time.Second, 10 * time.Second}, {10*time.Second - 1, 10 * time.Second},
		{10 * time.Second, 10 * time.Second}, {time.Minute, time.Minute},
	} {
		bubble(t, c.breaks.String(), func(t *testing.T) {
			s := share(every(10*time.Second, retry.Limit(0)))
			_ = s.Do(t.Context(), use)
			time.Sleep(c.breaks)
			s.forget()
			s.caller(0, "caller", t.Context(), s.refuse(1))
			s.want(t, fmt.Sprint(c.breaks, " call with 1"), fmt.Sprint(c.opens, " open 2, attempt 1"), fmt.Sprint(c.opens, " call with 2"),
				fmt.Sprint(c.opens, " done: 1 attempts, <nil>"), fmt.Sprint(c.opens, " caller: <nil>"))
			s.Close()
		})
	}
}

func TestShared_InThePauseAfterAProvenValueTheLastFailureIsTheMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Minute))
		_ = s.Do(t.Context(), use)
		err := s.Do(retry.WithoutRetries(t.Context()), s.refuse(1))
		if want := "retry: limit of 0 retries: 1 failure in 0s: refused 1"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		s.Close()
	})
}

func TestShared_AValueThatBreaksBeforeItIsProvenIsAFailureToOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling(retry.Limit(2)))
		all := s.refuse(1, 2, 3, 4, 5)
		s.caller(0, "a", t.Context(), all)
		s.caller(time.Second/2, "b", t.Context(), all)
		s.caller(2*time.Second, "c", t.Context(), all)
		s.caller(4*time.Second, "d", t.Context(), all)
		limit := "retry: limit of 2 retries: 3 failures in 3s: refused 3"
		s.want(t, "0s open 1, attempt 1", "0s call with 1", "0s retry 1 in 1s: refused 1", "0s a: refused 1",
			"1s open 2, attempt 2", "1s call with 2", "1s retry 2 in 2s: refused 2", "1s b: refused 2",
			"3s open 3, attempt 3", "3s call with 3", "3s gave up: limit of 2 retries", "3s done: 3 attempts, "+limit, "3s c: refused 3",
			"7s open 4, attempt 4", "7s call with 4", "7s gave up: limit of 2 retries",
			"7s done: 4 attempts, retry: limit of 2 retries: 3 failures in 7s: refused 4 (4 attempts in 7s)", "7s d: refused 4")
		s.Close()
	})
}

func TestShared_WhatThePolicyGivesUpWithReachesACallThatWantsTheNextValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second, retry.Limit(0)))
		_ = s.Do(t.Context(), func(context.Context, int) error { return errCut }) // not proven
		s.caller(0, "caller", t.Context(), s.refuse(1))
		limit := "retry: limit of 0 retries: 1 failure in 0s: refused 1"
		s.want(t, "0s open 1, attempt 1", "0s call with 1", "0s gave up: limit of 0 retries", "0s done: 1 attempts, "+limit, "0s caller: "+limit)
		s.Close()
	})
}

func TestShared_LastedIsTheTimeSinceTheValueWasOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *retry.Shared[int]
		start := time.Now()
		var lasted, opened []time.Duration
		s = retry.NewShared(doubling(retry.Limit(2), retry.ResetAfter(time.Hour),
			retry.OnRetry(func(_ context.Context, e retry.Event) { lasted = append(lasted, e.Lasted) })),
			func(context.Context) (int, error) {
				opened = append(opened, time.Since(start))
				time.Sleep(time.Minute)
				return 1, nil
			})
		for _, d := range []time.Duration{0, time.Second, time.Hour, time.Hour - 1, time.Hour} { // a consumer that never returns nil
			err := s.Try(t.Context(), func(context.Context, int) error { time.Sleep(d); return s.Broken(errBoom) })
			if err != errBoom {
				t.Error(err)
			}
		}
		if want := []time.Duration{0, time.Second, time.Hour, time.Hour - 1, time.Hour}; !slices.Equal(lasted, want) {
			t.Errorf("lasted %v, want %v", lasted, want)
		}
		var waits []time.Duration
		for i, d := range lasted[:4] {
			waits = append(waits, opened[i+1]-opened[i]-time.Minute-d)
		}
		if want := []time.Duration{time.Second, 2 * time.Second, time.Second, 2 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("waited %v, want %v", waits, want)
		}
		s.Close()
	})
}

// Rule 9.

func TestShared_AMarkOnAnOldValueChangesNothingButItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second)).renewing(time.Minute)
		_ = s.Do(t.Context(), use)
		s.caller(0, "late", t.Context(), func(_ context.Context, v int) error {
			if v == 2 {
				return nil
			}
			time.Sleep(2 * time.Minute)
			return s.Broken(errBoom)
		})
		s.caller(time.Minute, "renews", t.Context(), use)
		s.caller(90*time.Second, "proves", t.Context(), use)
		time.Sleep(3 * time.Minute)
		s.want(t, "0s open 1, attempt 1", "0s done: 1 attempts, <nil>", "1m0s open 2, attempt 1", "1m0s renews: <nil>",
			"1m30s done: 1 attempts, <nil>", "1m30s proves: <nil>", "2m0s late: <nil>")
		if cause := context.Cause(s.life(1)); cause != errBoom || s.life(2).Err() != nil {
			t.Errorf("the old value's context: %v, the new one's: %v", cause, s.life(2).Err())
		}
		s.Close()
	})
}

// renewing renews the first value after d, and no other one.
func (s *sharing) renewing(d time.Duration) *sharing {
	at := s.start.Add(d)
	s.RenewAt(func(v int) time.Time {
		if v == 1 {
			return at
		}
		return time.Time{}
	})
	return s
}

// Rule 10.

func TestShared_ClosesEachValueOnceWhenItsLastUserHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		last := 0
		s.CloseWith(func(v int) {
			if s.life(v).Err() == nil {
				t.Errorf("value %d is closed and its context has not ended", v)
			}
			s.note("close %d, by its last user: %v", v, virtual.Current().ID == last)
			time.Sleep(time.Minute) // the next open does not wait for it
		})
		_ = s.Do(t.Context(), use)
		s.forget()
		s.caller(time.Hour, "breaks", t.Context(), func(_ context.Context, v int) error {
			if v == 1 {
				return s.Broken(errBoom)
			}
			return nil
		})
		s.caller(0, "holds", t.Context(), func(context.Context, int) error {
			time.Sleep(2 * time.Hour)
			last = virtual.Current().ID
			return nil
		})
		s.caller(time.Hour+1, "next", t.Context(), use)
		s.want(t, "1h0m0s open 2, attempt 1", "1h0m0s done: 1 attempts, <nil>", "1h0m0s breaks: <nil>", "1h0m0.000000001s next: <nil>",
			"2h0m0s close 1, by its last user: true", "2h1m0s holds: <nil>")
		last = virtual.Current().ID
		s.Close()
		s.want(t, "2h1m0s close 2, by its last user: true")
		if at := time.Since(s.start); at != 2*time.Hour+2*time.Minute {
			t.Errorf("Close has returned after %v", at)
		}
	})
}

func TestShared_ClosesAValueThatWasReplacedWithoutAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second)).renewing(time.Minute)
		s.CloseWith(func(v int) { s.note("close %d", v) })
		s.takes[2] = time.Second
		_ = s.Do(t.Context(), use)
		s.caller(time.Minute, "renews", t.Context(), use)
		time.Sleep(time.Hour)
		s.want(t, "0s open 1, attempt 1", "0s done: 1 attempts, <nil>", "1m0s open 2, attempt 1", "1m0s renews: <nil>", "1m1s close 1")
		s.Close()
	})
}

// amid is a context whose Err first calls f, once: between a call's look at the value and its hold.
type amid struct {
	context.Context
	f func()
}

func (c *amid) Err() error {
	f := c.f
	c.f = func() {}
	f()
	return c.Context.Err()
}

func TestShared_AValueThatIsGoneWhenACallTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		_ = s.Do(t.Context(), use)
		s.caller(time.Minute, "caller", &amid{t.Context(), func() { _ = s.Try(t.Context(), s.refuse(1)) }}, s.refuse(1))
		time.Sleep(time.Second)
		s.forget()
		s.want(t, "1m0s call with 1", "1m0s open 2, attempt 1", "1m0s call with 2", "1m0s done: 1 attempts, <nil>", "1m0s caller: <nil>")
		s.Close()
	})
}

// Calls, breaks and renewals at once, on real processors.
func TestShared_NobodyGetsAValueThatIsClosed(t *testing.T) {
	type conn struct{ closed atomic.Int32 }
	var conns []*conn // of one open at a time
	s := retry.NewShared(every(0), func(context.Context) (*conn, error) {
		conns = append(conns, new(conn))
		return conns[len(conns)-1], nil
	})
	s.CloseWith(func(c *conn) { c.closed.Add(1) }).RenewAt(func(*conn) time.Time { return time.Now().Add(10 * time.Microsecond) })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 2000 {
				_ = s.Do(t.Context(), func(_ context.Context, c *conn) error {
					if c.closed.Load() != 0 {
						t.Error("a call has a value that is closed")
					}
					if i%5 == 0 {
						return s.Broken(errBoom)
					}
					return nil
				})
			}
		})
	}
	group.Wait()
	s.Close()
	for i, c := range conns {
		if n := c.closed.Load(); n != 1 {
			t.Errorf("value %d of %d was closed %d times", i, len(conns), n)
		}
	}
}

func TestShared_ClosesAValueThatComesAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var closed time.Duration
		s := retry.NewShared(every(time.Second), func(context.Context) (int, error) {
			time.Sleep(time.Minute)
			return 1, nil
		}).CloseWith(func(int) { time.Sleep(time.Second); closed = time.Since(start) })
		var group sync.WaitGroup
		group.Go(func() {
			if err := s.Do(t.Context(), use); err != retry.ErrClosed || time.Since(start) != time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
		time.Sleep(time.Second)
		s.Close()
		if closed != 61*time.Second || time.Since(start) != closed {
			t.Errorf("closed after %v, Close has returned after %v", closed, time.Since(start))
		}
		group.Wait()
	})
}

// Rule 11.

func TestShared_RenewsAheadWhileCallersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling(retry.Limit(1))).renewing(time.Hour)
		s.takes[2] = time.Second
		s.fails[2], s.fails[3] = errBoom, errBoom
		got := func(_ context.Context, v int) error { s.note("value %d", v); return nil }
		_ = s.Do(t.Context(), use)
		s.forget()
		hour := func(d time.Duration) time.Duration { return time.Hour + d }
		for _, at := range []time.Duration{hour(-1), hour(0), hour(time.Second / 2), hour(2*time.Second - 1), hour(2 * time.Second),
			hour(4*time.Second - 1), hour(4 * time.Second), hour(5 * time.Second)} {
			s.caller(at, "", t.Context(), got)
		}
		limit := "retry: limit of 1 retry: 2 failures in 1s: boom"
		s.want(t, "59m59.999999999s value 1", "59m59.999999999s : <nil>",
			"1h0m0s value 1", "1h0m0s : <nil>", "1h0m0s open 2, attempt 1", "1h0m0.5s value 1", "1h0m0.5s : <nil>",
			"1h0m1s retry 1 in 1s: boom", "1h0m1.999999999s value 1", "1h0m1.999999999s : <nil>",
			"1h0m2s value 1", "1h0m2s : <nil>", "1h0m2s open 3, attempt 2", "1h0m2s gave up: limit of 1 retry", "1h0m2s done: 2 attempts, "+limit,
			"1h0m3.999999999s value 1", "1h0m3.999999999s : <nil>",
			"1h0m4s value 1", "1h0m4s : <nil>", "1h0m4s open 4, attempt 3",
			"1h0m5s value 4", "1h0m5s : <nil>", "1h0m5s recovered: 2 retries", "1h0m5s done: 3 attempts, <nil>")
		s.Close()
	})
}

func TestShared_AllWaitForTheRenewalIfTheOldValueBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second)).renewing(time.Hour)
		s.takes[2] = time.Minute
		_ = s.Do(t.Context(), use)
		s.forget()
		s.caller(time.Hour, "renews", t.Context(), use)
		s.caller(time.Hour+time.Second, "breaks", t.Context(), s.refuse(1))
		s.caller(time.Hour+2*time.Second, "waits", t.Context(), s.refuse(1))
		s.want(t, "1h0m0s open 2, attempt 1", "1h0m0s renews: <nil>", "1h0m1s call with 1", "1h1m0s call with 2", "1h1m0s call with 2",
			"1h1m0s done: 1 attempts, <nil>", "1h1m0s breaks: <nil>", "1h1m0s waits: <nil>")
		s.Close()
	})
}

// The server of the tokens is down, and its row of failures goes on.
func TestShared_TheRowOfFailedRenewalsGoesOnIfTheOldValueBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(doubling()).renewing(time.Hour)
		s.fails[2], s.fails[3] = errBoom, errBoom
		_ = s.Do(t.Context(), use)
		s.forget()
		s.caller(time.Hour, "renews", t.Context(), use)
		s.caller(time.Hour+time.Second, "renews again", t.Context(), use)
		s.caller(time.Hour+2*time.Second, "breaks", t.Context(), s.refuse(1))
		s.want(t, "1h0m0s open 2, attempt 1", "1h0m0s renews: <nil>", "1h0m0s retry 1 in 1s: boom",
			"1h0m1s open 3, attempt 2", "1h0m1s renews again: <nil>", "1h0m1s retry 2 in 2s: boom",
			"1h0m2s call with 1", "1h0m3s open 4, attempt 3", "1h0m3s call with 4",
			"1h0m3s recovered: 2 retries", "1h0m3s done: 3 attempts, <nil>", "1h0m3s breaks: <nil>")
		s.Close()
	})
}

func TestShared_RenewsNoSoonerThanTheFirstDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(10 * time.Second))
		var asked []int
		s.RenewAt(func(v int) time.Time { asked = append(asked, v); return time.Now().Add(time.Second) })
		for range 30 {
			_ = s.Do(t.Context(), use)
			time.Sleep(time.Second)
		}
		if want := []int{1, 2, 3}; s.opens() != 3 || !slices.Equal(asked, want) {
			t.Errorf("%d opens in 30 s; RenewAt was asked for %v", s.opens(), asked)
		}
		s.Close()
	})
}

// Rule 12.

func TestShared_CloseEndsWaitsAtOnceAndWaitsForAllElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Minute))
		s.fails[2] = errBoom
		_ = s.Do(t.Context(), use)
		s.CloseWith(func(v int) { time.Sleep(time.Second); s.note("closed %d", v) })
		s.caller(0, "f", t.Context(), func(context.Context, int) error { time.Sleep(time.Hour); return nil })
		s.caller(time.Minute, "waits", t.Context(), s.refuse(1))
		time.Sleep(90 * time.Second)
		s.forget()
		for range 2 {
			s.group.Go(func() { s.Close(); s.note("Close has returned") })
		}
		synctest.Wait()
		s.note("later: %v", s.Do(t.Context(), use))
		s.note("Try: %v", s.Try(retry.WithoutRetries(t.Context()), use))
		s.want(t, "1m30s waits: retry: Shared: it is closed", "1m30s later: retry: Shared: it is closed", "1m30s Try: retry: Shared: it is closed",
			"1m30s done: 1 attempts, retry: Shared: it is closed", "1h0m1s closed 1", "1h0m1s f: <nil>", "1h0m1s Close has returned", "1h0m1s Close has returned")
		s.Close()
		if !retry.IsPermanent(retry.ErrClosed) {
			t.Error("ErrClosed is not permanent")
		}
	})
}

func TestShared_CloseOfWhatWasNeverUsed(t *testing.T) {
	s := share(every(time.Minute))
	s.Close()
	s.Close()
	if err := s.Do(t.Context(), use); err != retry.ErrClosed || s.opens() > 0 {
		t.Errorf("%v after %d opens", err, s.opens())
	}
}

func TestShared_CloseReportsTheEndOfTheRow(t *testing.T) {
	for _, c := range []struct {
		name  string
		first error
		then  func(*testing.T, *sharing)
		want  string
	}{
		{"nothing", nil, func(*testing.T, *sharing) {}, ""},
		{"a value that was not proven", nil, func(t *testing.T, s *sharing) {
			_ = s.Do(t.Context(), func(context.Context, int) error { return errCut })
		},
			"0s done: 1 attempts, retry: Shared: it is closed"},
		{"a call that succeeds afterwards", nil, func(t *testing.T, s *sharing) {
			s.group.Go(func() {
				_ = s.Do(t.Context(), func(context.Context, int) error { time.Sleep(time.Second); return nil })
			})
			synctest.Wait()
		}, "0s done: 1 attempts, retry: Shared: it is closed"},
		{"a proven value", nil, func(t *testing.T, s *sharing) { _ = s.Do(t.Context(), use) }, ""},
		{"a pause", errBoom, func(t *testing.T, s *sharing) { _ = s.Do(retry.WithoutRetries(t.Context()), use) },
			"0s done: 1 attempts, retry: Shared: it is closed"},
		{"given up", retry.Permanent(errBoom), func(t *testing.T, s *sharing) { _ = s.Do(t.Context(), use) }, ""},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := share(every(time.Minute))
			s.fails[1] = c.first
			c.then(t, s)
			s.forget()
			s.Close()
			var want []string
			if c.want != "" {
				want = append(want, c.want)
			}
			s.want(t, want...)
		})
	}
}

// Rule 13.

func TestShared_APanicOrGoexitOfFReachesItsCallerAndSaysNothingAboutTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second))
		if v := check.Recovered(func() {
			_ = s.Do(t.Context(), func(context.Context, int) error { panic("boom") })
		}); v != "boom" {
			t.Errorf("recovered %v", v)
		}
		if !check.Exits(func() {
			_ = s.Do(t.Context(), func(context.Context, int) error { runtime.Goexit(); return nil })
		}) {
			t.Error("no Goexit")
		}
		s.want(t, "0s open 1, attempt 1")
		if err := s.Do(t.Context(), use); err != nil || s.opens() != 1 {
			t.Errorf("%v after %d opens", err, s.opens())
		}
		s.Close()
	})
}

func TestShared_APanicOrGoexitOfOpenReachesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := 0
		s := retry.NewShared(every(time.Second), func(context.Context) (int, error) {
			opens++
			time.Sleep(time.Second)
			switch opens {
			case 1:
				panic(errBoom)
			case 2:
				runtime.Goexit()
			}
			return opens, nil
		})
		do := func() { _ = s.Do(t.Context(), use) }
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				v := check.Recovered(do)
				if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
					t.Errorf("recovered %v", v)
				}
			})
		}
		group.Wait()
		for range 3 {
			group.Go(func() {
				if !check.Exits(do) {
					t.Error("no Goexit")
				}
			})
		}
		group.Wait()
		start := time.Now()
		err := s.Do(retry.WithoutRetries(t.Context()), use)
		if want := "retry: limit of 0 retries: 1 failure in 0s: retry: Shared: open has panicked, or called runtime.Goexit (2 attempts in 0s)"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		do()
		if at := time.Since(start); opens != 3 || at != 2*time.Second {
			t.Errorf("%d opens, the last one after %v", opens, at)
		}
		s.Close()
	})
}

func TestShared_AnOpenThatPanickedIsAnAttemptOfTheRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []int
		var recovered retry.Recovery
		start := time.Now()
		s := retry.NewShared(doubling(retry.OnRecovered(func(_ context.Context, r retry.Recovery) { recovered = r })), func(ctx context.Context) (int, error) {
			switch attempts = append(attempts, stream.AttemptFrom(ctx)); len(attempts) {
			case 1, 3:
				panic("boom")
			case 2:
				return 0, errBoom
			}
			return 1, nil
		})
		do := func() { _ = s.Do(t.Context(), use) }
		for _, panics := range []bool{true, true, false} {
			if v := check.Recovered(do); (v != nil) != panics {
				t.Errorf("recovered %v", v)
			}
		}
		if want := []int{1, 2, 3, 4}; !slices.Equal(attempts, want) || time.Since(start) != 4*time.Second { // 1 s, 1 s, 2 s
			t.Errorf("attempts %v in %v", attempts, time.Since(start))
		}
		if recovered != (retry.Recovery{Retries: 1, Down: 3 * time.Second, Last: errBoom}) {
			t.Errorf("%+v", recovered)
		}
		s.Close()
	})
}

func TestShared_APanicOfAHookLeavesNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(every(time.Second, retry.OnAttempt(func(_ context.Context, e retry.AttemptEnd) {
			if e.Err != nil {
				time.Sleep(time.Second)
				panic(e.Err)
			}
		})))
		recovered := func(f func()) {
			t.Helper()
			if err, ok := check.Recovered(f).(error); !ok {
				t.Errorf("recovered %v", err)
			}
		}
		for i := range 2 { // the second one comes while the hook of the first one's failure runs
			s.group.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / 2)
				recovered(func() { _ = s.Do(t.Context(), s.refuse(1)) })
			})
		}
		s.group.Wait()
		s.fails[2] = errBoom
		recovered(func() { _ = s.Do(t.Context(), use) })
		if err := s.Do(t.Context(), use); err != nil {
			t.Error(err)
		}
		s.Close()
	})
}

// No hook learns of an open that has panicked, and OnDone counts it once.
func TestShared_APanicOfOpenIsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := ""
		s := retry.NewShared(every(time.Second,
			retry.OnAttempt(func(_ context.Context, e retry.AttemptEnd) { got += fmt.Sprint("attempt ", e.N, " ") }),
			retry.OnDone(func(_ context.Context, r retry.Result) { got += fmt.Sprint("done ", r.Attempts) }),
		), func(context.Context) (int, error) { panic(errBoom) })
		check.Recovered(func() { _ = s.Do(t.Context(), use) })
		if s.Close(); got != "done 1" {
			t.Errorf("got %s, want done 1", got)
		}
	})
}

// Rule 14.

var packageWide = retry.NewShared(every(time.Second), func(context.Context) (int, error) { return 1, nil })

func TestShared_OfAPackageWorksInSeveralBubbles(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			for range 2 {
				time.Sleep(time.Second)
				if err := packageWide.Do(t.Context(), func(context.Context, int) error { time.Sleep(time.Second); return packageWide.Broken(errBoom) }); err == nil {
					t.Error("no error")
				}
			}
		})
	}
}

// Whatever is called with a lock could not use the Shared, and would stop the bubble when it waits.
func TestShared_HoldsNoLockWhileAnythingOfTheUserRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *retry.Shared[int]
		other := func() { // of the Shared, while something waits
			time.Sleep(time.Second)
			_ = s.Try(lasting(t, 1), use)
			_ = s.Broken(errBoom)
		}
		p := every(time.Second, retry.WithClock(waiting{}), retry.WithRand(func() float64 { other(); return 0.5 }),
			retry.BackoffFor(func(error) bool { other(); return false }, every(0).Backoff()),
			retry.OnAttempt(func(context.Context, retry.AttemptEnd) { other() }), retry.OnDone(func(context.Context, retry.Result) { other() }))
		opens := 0
		s = retry.NewShared(p, func(context.Context) (int, error) {
			other()
			if opens++; opens%2 == 1 {
				return 0, errBoom
			}
			return opens, nil
		})
		s.CloseWith(func(int) { other() }).RenewAt(func(int) time.Time { other(); return time.Now() })
		for range 5 {
			_ = s.Do(t.Context(), func(_ context.Context, v int) error {
				other()
				if v%4 == 0 {
					return s.Broken(errBoom)
				}
				return nil
			})
			time.Sleep(time.Minute)
		}
		s.Close()
	})
}

// waiting is the system's clock, but Now waits: a lock that is held then stops the bubble.
type waiting struct{}

func (waiting) Now() time.Time {
	time.Sleep(time.Nanosecond)
	return time.Now()
}

func (waiting) AfterFunc(d time.Duration, f func()) stream.Stopper { return time.AfterFunc(d, f) }

func TestShared_KeepsNoValueThatIsOver(t *testing.T) {
	type big struct{ _ [1 << 10]int }
	var first weak.Pointer[big]
	s := retry.NewShared(every(0), func(context.Context) (*big, error) {
		v := new(big)
		if first == (weak.Pointer[big]{}) {
			first = weak.Make(v)
		}
		return v, nil
	})
	_ = s.Try(t.Context(), func(context.Context, *big) error { return s.Broken(errBoom) })
	_ = s.Do(t.Context(), func(context.Context, *big) error { return nil })
	for i := 0; first.Value() != nil; i++ {
		if i == 10 {
			t.Fatal("a value that broke is kept")
		}
		runtime.GC()
	}
	s.Close()
}

func TestShared_OnAMockClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		ctx := stream.WithClock(t.Context(), mock)
		opens := 0
		s := retry.NewShared(doubling(retry.AttemptTimeout(time.Minute)), func(ctx context.Context) (int, error) {
			if opens++; opens == 2 {
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			if opens < 4 {
				return 0, errBoom
			}
			return opens, nil
		})
		done := make(chan error, 1)
		go func() { done <- s.Do(ctx, use) }()
		for i, d := range []time.Duration{0, time.Second, time.Minute, 2 * time.Second, 4 * time.Second} {
			synctest.Wait()
			mock.Add(d - 1)
			synctest.Wait()
			if want := []int{1, 1, 2, 2, 3}[i]; opens != want {
				t.Errorf("%d opens before step %d, want %d", opens, i, want)
			}
			mock.Add(1)
		}
		synctest.Wait()
		if opens != 4 {
			t.Errorf("%d opens", opens)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
	})
}

func TestShared_DoAllocatesNothingForAHealthyValue(t *testing.T) {
	s := share(every(0))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() { _ = s.Do(ctx, use) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	s.Close()
}

func TestShared_InvalidArguments(t *testing.T) {
	s := share(every(0))
	check.Panics(t, "retry: NewShared: open is nil", func() { retry.NewShared[int](every(0), nil) })
	check.Panics(t, "retry: Shared.CloseWith: f is nil", func() { s.CloseWith(nil) })
	check.Panics(t, "retry: Shared.RenewAt: f is nil", func() { s.RenewAt(nil) })
	check.Panics(t, "retry: Shared.Do: f is nil", func() { _ = s.Do(t.Context(), nil) })
	check.Panics(t, "retry: Shared.Try: f is nil", func() { _ = s.Try(t.Context(), nil) })
}
