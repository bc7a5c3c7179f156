package mapretry

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// movedClock stands still, except that arming a timer moves it by step.
type movedClock struct {
	at, step time.Duration
	armed    []time.Duration
	stopped  int
}

var start = time.Unix(0, 0)

func (c *movedClock) Now() time.Time { return start.Add(c.at) }

func (c *movedClock) AfterFunc(d time.Duration, _ func()) stream.Stopper {
	c.armed = append(c.armed, d)
	c.at += c.step
	return c
}

func (c *movedClock) Stop() bool {
	c.stopped++
	return true
}

func TestTimer_OnAClock(t *testing.T) {
	for name, c := range map[string]struct {
		clock  movedClock
		armed  int
		ticked bool
	}{
		"later":                {movedClock{at: 4}, 1, false},
		"now":                  {movedClock{at: 5}, 0, true},
		"past":                 {movedClock{at: 6}, 0, true},
		"moved up to the time": {movedClock{at: 4, step: 1}, 1, true},
		"moved past it":        {movedClock{at: 4, step: 2}, 1, true},
	} {
		timer := newTicker(&c.clock, start)
		timer.set(5)
		if len(c.clock.armed) != c.armed || len(timer.C) == 1 != c.ticked {
			t.Errorf("%s: armed %v, ticked %v", name, c.clock.armed, len(timer.C) == 1)
		}
		if c.armed == 1 && c.clock.armed[0] != 1 {
			t.Errorf("%s: armed for %v, want 1 ns", name, c.clock.armed)
		}
		timer.tick() // a second tick does not block
		timer.set(10)
		timer.stop()
		timer.stop()
		if c.clock.stopped != len(c.clock.armed) {
			t.Errorf("%s: %d timers armed and %d stopped", name, len(c.clock.armed), c.clock.stopped)
		}
	}
}

func TestTimer_OnTheSystemsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		timer := newTicker(stream.ClockFrom(t.Context()), begin)
		time.Sleep(2 * time.Hour)
		select {
		case <-timer.C:
			t.Error("it ticks before it is set")
		default:
		}
		timer.set(4 * time.Hour)
		timer.set(3 * time.Hour)
		if <-timer.C; time.Since(begin) != 3*time.Hour {
			t.Errorf("it ticked after %v, want 3 h", time.Since(begin))
		}
		timer.set(4 * time.Hour)
		timer.stop()
		time.Sleep(2 * time.Hour)
		select {
		case <-timer.C:
			t.Error("it ticks after it was stopped")
		default:
		}
	})
}
