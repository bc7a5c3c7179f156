package timer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/timer"
)

const ms = time.Millisecond

type stopper = interface{ Stop() bool }

type system = timer.System

// fake is an injected clock that only records its timers; the test makes them go off.
type fake struct{ timers []*fakeTimer }

type fakeTimer struct {
	d       time.Duration
	fire    func()
	stopped bool
}

func (f *fake) Now() time.Time { return time.Unix(1000, 0) }

func (f *fake) AfterFunc(d time.Duration, callback func()) stopper {
	t := &fakeTimer{d: d, fire: callback}
	f.timers = append(f.timers, t)
	return t
}

func (t *fakeTimer) Stop() bool { t.stopped = true; return false } // the result is wrong on purpose

// unstopped returns the number of timers that were not stopped.
func (f *fake) unstopped() (n int) {
	for _, t := range f.timers {
		if !t.stopped {
			n++
		}
	}
	return n
}

func ready(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestSystem_ExactTimesOnOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := timer.New(system{})
		start := time.Now()
		var at []time.Duration
		timers := map[<-chan time.Time]bool{}
		for _, d := range []time.Duration{3 * ms, 5 * ms, 1} {
			a.Set(d)
			timers[a.C()] = true
			<-a.C()
			at = append(at, time.Since(start))
		}
		if len(timers) != 1 {
			t.Errorf("%d timers, want one for all waits", len(timers))
		}
		if want := []time.Duration{3 * ms, 8 * ms, 8*ms + 1}; !slices.Equal(at, want) {
			t.Errorf("went off at %v, want %v", at, want)
		}
		a.Stop()
	})
}

func TestInjected_WhatCallsBackLateOrTwiceReachesNobody(t *testing.T) {
	c := &fake{}
	a := timer.New(c)
	a.Set(3 * ms)
	a.Set(5 * ms)
	c.timers[0].fire() // late: it was replaced
	if ready(a.C()) {
		t.Error("the replaced timer is received")
	}
	c.timers[1].fire()
	c.timers[1].fire() // twice
	if !ready(a.C()) {
		t.Error("the timer did not go off")
	}
	a.Set(7 * ms)
	c.timers[1].fire() // a third time
	if ready(a.C()) {
		t.Error("the one before is received")
	}
	a.Stop()
	c.timers[2].fire() // after Stop
	if a.C() != nil {
		t.Error("C after Stop is not nil")
	}
	if n := c.unstopped(); n != 0 {
		t.Errorf("%d timers were not stopped", n)
	}
}

func TestInjected_NoCallbackForWaitsOfNothing(t *testing.T) {
	c := &fake{}
	a := timer.New(c)
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		if err := a.Wait(t.Context(), d); err != nil {
			t.Errorf("Wait(%v): %v", d, err)
		}
	}
	if len(c.timers) != 0 {
		t.Errorf("%d timers were armed", len(c.timers))
	}
}

func TestInjected_ACallbackInsideAfterFunc(t *testing.T) {
	a := timer.New(hasty{})
	a.Set(ms)
	if !ready(a.C()) {
		t.Error("the timer did not go off")
	}
}

// hasty calls back before AfterFunc returns.
type hasty struct{}

func (hasty) Now() time.Time { return time.Time{} }
func (hasty) AfterFunc(_ time.Duration, f func()) stopper {
	f()
	return &fakeTimer{}
}

func TestWait(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		wait, cancel time.Duration // cancel 0: before
		at           time.Duration
		want         error
	}{
		"passes":                          {wait: 3 * ms, cancel: 9 * ms, at: 3 * ms},
		"passes at once":                  {wait: 0, cancel: 9 * ms, at: 0},
		"passes, the shortest":            {wait: 1, cancel: 9 * ms, at: 1},
		"cancelled":                       {wait: 9 * ms, cancel: 3 * ms, at: 3 * ms, want: cause},
		"cancelled before":                {wait: 9 * ms, at: 0, want: cause},
		"cancelled before, nothing to do": {wait: 0, at: 0, want: cause},
		"both at one instant":             {wait: 3 * ms, cancel: 3 * ms, at: 3 * ms, want: errAny},
	} {
		check.Bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if test.cancel == 0 {
				cancel(cause)
			}
			time.AfterFunc(test.cancel, func() { cancel(cause) })
			a := timer.New(system{})
			start := time.Now()
			err := a.Wait(ctx, test.wait)
			if at := time.Since(start); at != test.at || !errors.Is(err, test.want) && test.want != errAny {
				t.Errorf("after %v: %v, want %v after %v", at, err, test.want, test.at)
			}
			if a.C() != nil {
				t.Error("a timer is set after Wait")
			}
			time.Sleep(time.Second)
		})
	}
}

var errAny = errors.New("any")

// mock is benbjohnson's.
type mock struct{ *clock.Mock }

func (m mock) AfterFunc(d time.Duration, f func()) stopper { return m.Mock.AfterFunc(d, f) }

func TestWait_OnAMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := mock{clock.NewMock()}
		a := timer.New(mock)
		var at []time.Duration
		start := mock.Now()
		go func() {
			for _, d := range []time.Duration{3 * ms, 0, 2 * ms} {
				if err := a.Wait(t.Context(), d); err != nil {
					t.Error(err)
				}
				at = append(at, a.Now().Sub(start))
			}
		}()
		for range 6 {
			synctest.Wait()
			mock.Add(ms)
		}
		synctest.Wait()
		if want := []time.Duration{3 * ms, 3 * ms, 5 * ms}; !slices.Equal(at, want) {
			t.Errorf("passed at %v, want %v", at, want)
		}
	})
}

// BenchmarkWait: the cost of a wait of 0, and of setting a timer for each value.
func BenchmarkWait(b *testing.B) {
	b.Run("nothing to wait for", func(b *testing.B) {
		b.ReportAllocs()
		a := timer.New(system{})
		for b.Loop() {
			_ = a.Wait(b.Context(), 0)
		}
	})
	b.Run("set and stop", func(b *testing.B) {
		b.ReportAllocs()
		a := timer.New(system{})
		for b.Loop() {
			a.Set(time.Hour)
			a.Stop()
		}
	})
}

func TestMain(m *testing.M) { check.Main(m) }
