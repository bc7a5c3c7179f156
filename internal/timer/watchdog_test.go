package timer_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
)

// watch starts a watchdog on the system clock, which records when it strikes. It must be called in a bubble.
func watch(d time.Duration) (w *timer.Watchdog, struckAt *atomic.Int64) {
	w, struckAt = new(timer.Watchdog), new(atomic.Int64)
	start := time.Now()
	w.Start(system{}, d, func() {
		if w.Due() {
			struckAt.Store(int64(time.Since(start)))
		}
	})
	return w, struckAt
}

func TestWatchdog_StrikesExactlyOncePeriodIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		values []time.Duration // when the owner pauses
		busy   time.Duration   // for how long
		want   time.Duration
	}{
		"silent from the start":            {want: 5 * ms},
		"one value":                        {values: []time.Duration{3 * ms}, want: 8 * ms},
		"at once":                          {values: []time.Duration{0}, want: 5 * ms},
		"several":                          {values: []time.Duration{1 * ms, 2 * ms, 6 * ms, 10 * ms, 14 * ms}, want: 19 * ms},
		"busy for less":                    {values: []time.Duration{3 * ms}, busy: 1 * ms, want: 9 * ms},
		"the timer fires while it is busy": {values: []time.Duration{3 * ms}, busy: 4 * ms, want: 12 * ms},
		"busy for long":                    {values: []time.Duration{3 * ms, 4 * ms}, busy: time.Hour, want: 2*time.Hour + 9*ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, struckAt := watch(5 * ms)
				silent := time.Duration(0)
				for _, at := range c.values {
					time.Sleep(at - silent)
					silent = at
					if !w.Pause() {
						t.Fatalf("late at %v", at)
					}
					time.Sleep(c.busy)
					w.Resume()
				}
				time.Sleep(time.Minute)
				if got := time.Duration(struckAt.Load()); got != c.want {
					t.Errorf("struck at %v, want %v", got, c.want)
				}
				if w.Pause() || w.Stop() {
					t.Error("Pause or Stop reports that the owner was in time")
				}
			})
		})
	}
}

// Once it is stopped, its timer does not fire.
func TestWatchdog_StoppedItsTimerIsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w timer.Watchdog
		fired := 0
		w.Start(system{}, 5*ms, func() { fired++ })
		w.Stop()
		time.Sleep(time.Minute)
		if fired > 0 {
			t.Errorf("the timer has fired %d times, want 0", fired)
		}
	})
}

// hand is an injected clock that is moved by hand and fires no timer itself.
type hand struct {
	fake
	now time.Duration
}

func (h *hand) Now() time.Time { return time.Unix(1000, 0).Add(h.now) }

func (h *hand) watch(d time.Duration) (w *timer.Watchdog, strikes *int) {
	w, strikes = new(timer.Watchdog), new(int)
	w.Start(h, d, func() {
		if w.Due() {
			*strikes++
		}
	})
	return w, strikes
}

// beat is a sign of life at a time.
func (h *hand) beat(w *timer.Watchdog, now time.Duration) {
	h.now = now
	w.Pause()
	w.Resume()
}

func (h *hand) delays() (all []time.Duration) {
	for _, t := range h.timers {
		all = append(all, t.d)
	}
	return all
}

func TestWatchdog_ArmsOneTimerForAllThatComesInTime(t *testing.T) {
	c := &hand{}
	w, strikes := c.watch(5 * ms)
	for range 1000 {
		c.now += ms / 250
		w.Pause()
		w.Resume()
	}
	c.now = 5 * ms
	c.timers[0].fire()
	if want := []time.Duration{5 * ms, 4 * ms}; !slices.Equal(c.delays(), want) {
		t.Errorf("armed for %v, want %v: what is left", c.delays(), want)
	}
	c.now = 9 * ms
	c.timers[1].fire()
	if *strikes != 1 || w.Stop() {
		t.Errorf("%d strikes", *strikes)
	}
}

func TestWatchdog_OnAClockThatFiresTwice(t *testing.T) {
	c := &hand{}
	w, strikes := c.watch(5 * ms)
	c.beat(w, 3*ms)
	c.now = 5 * ms
	c.timers[0].fire()
	c.timers[0].fire()
	if want := []time.Duration{5 * ms, 3 * ms}; !slices.Equal(c.delays(), want) {
		t.Errorf("armed for %v, want %v", c.delays(), want)
	}
	w.Pause()
	c.now = 8 * ms
	c.timers[1].fire()
	c.timers[1].fire()
	w.Resume()
	c.timers[1].fire()
	if want := []time.Duration{5 * ms, 3 * ms, 5 * ms}; !slices.Equal(c.delays(), want) {
		t.Errorf("armed for %v, want %v", c.delays(), want)
	}
	c.now = 13 * ms
	c.timers[2].fire()
	c.timers[2].fire()
	if *strikes != 1 {
		t.Errorf("%d strikes, want one", *strikes)
	}
}

// The timer's goroutine may run late: by then more than the period is over, or a new one has begun.
func TestWatchdog_ATimerThatFiresLate(t *testing.T) {
	c := &hand{}
	w, strikes := c.watch(5 * ms)
	c.beat(w, 3*ms)
	c.now = 9 * ms
	c.timers[0].fire()
	if *strikes != 1 || len(c.timers) != 1 {
		t.Errorf("%d strikes, %d timers", *strikes, len(c.timers))
	}
	w.Stop()
	w, strikes = c.watch(5 * ms)
	w.Stop()
	c.timers[1].fire()
	if *strikes != 0 || len(c.timers) != 2 || !c.timers[1].stopped {
		t.Errorf("after Stop: %d strikes, %d timers", *strikes, len(c.timers))
	}
}

func TestWatchdog_OnAClockThatIsSetBack(t *testing.T) {
	c := &hand{now: time.Hour}
	w, strikes := c.watch(5 * ms)
	c.beat(w, 0)
	c.timers[0].fire()
	if *strikes != 1 { // counted from the start
		t.Errorf("%d strikes", *strikes)
	}
	c.now = time.Hour
	w, strikes = c.watch(5 * ms)
	c.now += time.Minute
	w.Pause()
	w.Resume()
	c.now -= time.Minute
	c.timers[1].fire()
	if d := c.timers[2].d; d != 5*ms {
		t.Errorf("armed for %v, want no more than the period", d)
	}
	c.timers[2].fire()
	if *strikes != 1 {
		t.Errorf("%d strikes", *strikes)
	}
	w.Stop()
}

// A clock that is set back by less than the period makes no difference either.
func TestWatchdog_OnAClockThatIsSetBackALittle(t *testing.T) {
	c := &hand{now: time.Hour}
	w, strikes := c.watch(5 * ms)
	c.now -= 3 * ms
	w.Pause()
	w.Resume()
	c.timers[0].fire()
	if *strikes != 1 || len(c.timers) != 1 {
		t.Errorf("%d strikes, %d timers, want the first timer to strike", *strikes, len(c.timers))
	}
}

// A deadline past the end of time.Duration is the longest one.
func TestWatchdog_ADeadlineThatOverflows(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	c := &hand{}
	w, strikes := c.watch(century)
	w.Pause()
	c.timers[0].fire()
	c.now = 2 * century
	w.Resume()
	c.now += century - time.Hour
	c.timers[1].fire()
	if *strikes != 1 {
		t.Errorf("%d strikes after %v", *strikes, c.now)
	}
}

func TestWatchdog_ACallbackInsideAfterFunc(t *testing.T) {
	var w timer.Watchdog
	strikes := 0
	w.Start(hasty{}, ms, func() {
		if w.Due() {
			strikes++
		}
	})
	if strikes != 1 || w.Pause() {
		t.Errorf("%d strikes", strikes)
	}
}

// meddling calls f in the middle of an AfterFunc.
type meddling struct {
	hand
	f func()
}

func (m *meddling) AfterFunc(d time.Duration, callback func()) stopper {
	t := m.hand.AfterFunc(d, callback)
	if m.f != nil {
		m.f()
	}
	return t
}

// startMeddling starts a watchdog, whose first timer is due when one sign of life has come.
func startMeddling() (*meddling, *timer.Watchdog) {
	c, w := new(meddling), new(timer.Watchdog)
	w.Start(c, 5*ms, func() { w.Due() })
	c.beat(w, 3*ms)
	c.now = 5 * ms
	return c, w
}

// A timer that is set again while the watch ends is stopped.
func TestWatchdog_StoppedWhileItArms(t *testing.T) {
	c, w := startMeddling()
	c.f = func() { w.Stop() }
	c.timers[0].fire()
	if len(c.timers) != 2 || !c.timers[1].stopped {
		t.Error("the timer that was set again was not stopped")
	}
}

// A timer that is set again may fire before AfterFunc has returned: then the newer timer counts.
func TestWatchdog_FiredWhileItArms(t *testing.T) {
	c, w := startMeddling()
	c.f = func() {
		c.f = nil
		w.Pause()
		w.Resume()
		c.timers[1].fire()
	}
	c.timers[0].fire()
	w.Stop()
	if len(c.timers) != 3 || !c.timers[2].stopped {
		t.Error("the last timer was not stopped")
	}
}

// The owner and the timer act at the same moment: one of them is first.
func TestWatchdog_Race(t *testing.T) {
	for i := range 2000 {
		var w timer.Watchdog
		var strikes atomic.Int32
		w.Start(system{}, time.Duration(1+i*20), func() {
			if w.Due() {
				strikes.Add(1)
			}
		})
		late := false
		for range 20 {
			if !w.Pause() {
				late = true
				break
			}
			w.Resume()
		}
		inTime := w.Stop()
		switch n := strikes.Load(); {
		case late && inTime:
			t.Fatal("late, and then in time")
		case inTime && n != 0, n > 1:
			t.Fatalf("%d strikes, in time: %v", n, inTime)
		}
	}
}
