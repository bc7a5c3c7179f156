package timer_test

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// watch starts a watchdog on the system clock, which records when it strikes. It must be called in a bubble.
func watch(d time.Duration) (w *timer.Watchdog, struckAt *atomic.Int64) {
	w, struckAt = new(timer.Watchdog), new(atomic.Int64)
	start := time.Now()
	w.Start(system{}, d, func() { struckAt.Store(int64(time.Since(start))) })
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
		check.Bubble(t, name, func(t *testing.T) {
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
	}
}

// A stopped watch does not strike.
func TestWatchdog_Stopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		strikes := 0
		var w timer.Watchdog
		w.Start(system{}, 5*ms, func() { strikes++ })
		time.Sleep(4 * ms)
		for range 2 { // a second time does nothing
			if !w.Stop() {
				t.Error("Stop reports that the owner was late")
			}
		}
		time.Sleep(time.Minute)
		if strikes > 0 {
			t.Errorf("%d strikes, want 0", strikes)
		}
	})
}

// A period without end is one: its deadline does not overflow.
func TestWatchdog_TheLongestPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, struckAt := watch(math.MaxInt64)
		for range 3 {
			time.Sleep(50 * 365 * 24 * time.Hour)
			if !w.Pause() || struckAt.Load() != 0 {
				t.Error("it has struck")
			}
			w.Resume()
		}
		w.Stop()
	})
}

// watched is a watchdog of 5 ms on a clock that fires no timer itself.
type watched struct {
	timer.Watchdog
	fake
	strikes int
}

func watchOn() *watched {
	w := new(watched)
	w.Start(&w.fake, 5*ms, func() { w.strikes++ })
	return w
}

// beat is a sign of life.
func (w *watched) beat() {
	w.Pause()
	w.Resume()
}

// On an injected clock each period has a timer of its own, and only the last one is armed.
func TestWatchdog_Injected(t *testing.T) {
	w := watchOn()
	for range 3 {
		w.beat()
	}
	if len(w.timers) != 4 || w.unstopped() != 1 || w.timers[3].stopped {
		t.Errorf("%d timers, %d not stopped, want 4 and the last one", len(w.timers), w.unstopped())
	}
	for i, armed := range w.timers {
		if armed.d != 5*ms {
			t.Errorf("timer %d is armed for %v", i, armed.d)
		}
	}
	for range 2 { // late, and twice
		for _, replaced := range w.timers[:3] {
			replaced.fire()
		}
	}
	if w.strikes != 0 {
		t.Error("a replaced timer strikes")
	}
	w.timers[3].fire()
	w.timers[3].fire()
	if w.strikes != 1 || w.Pause() || w.Watchdog.Stop() {
		t.Errorf("%d strikes", w.strikes)
	}
}

// The owner may take any time between Pause and Resume, and a whole period from then on.
func TestWatchdog_InjectedWhilePaused(t *testing.T) {
	w := watchOn()
	w.Pause()
	w.timers[0].fire()
	w.Resume()
	w.timers[0].fire()
	if w.strikes != 0 {
		t.Errorf("%d strikes in a pause", w.strikes)
	}
	w.timers[1].fire()
	if w.strikes != 1 {
		t.Errorf("%d strikes", w.strikes)
	}
}

func TestWatchdog_InjectedAndStopped(t *testing.T) {
	w := watchOn()
	if !w.Watchdog.Stop() || w.unstopped() != 0 {
		t.Errorf("%d timers are not stopped", w.unstopped())
	}
	w.timers[0].fire()
	if w.strikes != 0 || len(w.timers) != 1 {
		t.Errorf("after Stop: %d strikes, %d timers", w.strikes, len(w.timers))
	}
}

func TestWatchdog_ACallbackInsideAfterFunc(t *testing.T) {
	var w timer.Watchdog
	strikes := 0
	w.Start(hasty{}, ms, func() { strikes++ })
	if strikes != 1 || w.Pause() {
		t.Errorf("%d strikes", strikes)
	}
}

// The owner and the timer act at the same moment: one of them is first.
func TestWatchdog_Race(t *testing.T) {
	for i := range 2000 {
		var w timer.Watchdog
		var strikes atomic.Int32
		w.Start(system{}, time.Duration(1+i*20), func() { strikes.Add(1) })
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
