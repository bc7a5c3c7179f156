package virtual

import (
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
)

// Clock is a bubble's own clock with another order: timers that are due at one instant fire after all timers of the
// system clock for that instant, one at a time, in the order of Timer.compare, and everything in the bubble is at rest
// before each.
type Clock struct {
	mu     sync.Mutex    // never held while a callback runs or a wait lasts
	timers []*Timer      // that are armed, in the order in which they fire
	made   int           // number of timers so far
	wake   *time.Timer   // goes off when the first of the timers is due
	firing chan struct{} // closed when all due timers have fired; nil if none is due
}

// start makes the clock ready. It must be called in the bubble.
func (c *Clock) start() {
	c.wake = time.AfterFunc(time.Hour, c.fireAll)
	c.wake.Stop()
}

// Owner is the owner of timers: one subscription, or the test itself.
type Owner struct{ Silent bool }

// View is the clock for one owner. A marble source has a number from 1: its timers are armed by a view with that number
// and with the number of the source's run.
type View struct {
	Clock       *Clock
	Owner       *Owner
	Source, Run int
}

var _ timer.Clock = View{}

// Now returns the bubble's time.
func (View) Now() time.Time { return time.Now() }

// AfterFunc calls f on its own goroutine when d has passed, at once if d is not positive.
func (v View) AfterFunc(d time.Duration, f func()) timer.Stopper {
	if f == nil {
		panic("streamtest: AfterFunc: f is nil")
	}
	if d <= 0 {
		go f()
		return &Timer{clock: v.Clock}
	}
	return v.Arm(d, f)
}

// Arm is AfterFunc for d ≥ 0; a timer that is due at once fires when everything is at rest.
func (v View) Arm(d time.Duration, f func()) *Timer {
	c, now, callers := v.Clock, time.Now(), Here()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	t := &Timer{
		clock: c, owner: v.Owner, f: f, delay: d, armedAt: now, callers: callers,
		due: now.Add(d), source: v.Source, run: v.Run, number: c.made,
	}
	i, _ := c.find(t)
	c.timers = slices.Insert(c.timers, i, t)
	c.setWake()
	return t
}

// Stop disarms the timer and reports whether that kept it from firing.
func (t *Timer) Stop() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	i, armed := c.find(t)
	if armed {
		c.timers = slices.Delete(c.timers, i, i+1)
		c.setWake()
	}
	return armed
}

// find returns the index of a timer, or the one at which it would be, and whether it is armed.
func (c *Clock) find(t *Timer) (i int, armed bool) {
	return slices.BinarySearchFunc(c.timers, t, (*Timer).compare)
}

// setWake sets the wake-up for the first timer, unless timers are being fired.
func (c *Clock) setWake() {
	switch {
	case c.firing != nil: // that sets the wake-up at its end
	case len(c.timers) == 0:
		c.wake.Stop()
	default:
		c.wake.Reset(time.Until(c.timers[0].due))
	}
}

// fireAll fires all due timers.
func (c *Clock) fireAll() {
	c.mu.Lock()
	begins := c.firing == nil
	if begins {
		c.firing = make(chan struct{})
	}
	c.mu.Unlock()
	for begins && c.fireFirst() {
	}
}

// fireFirst fires the first due timer, and reports whether there was one.
func (c *Clock) fireFirst() bool {
	rest()
	acquire()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.anyDue() {
		go c.timers[0].f()
		c.timers = slices.Delete(c.timers, 0, 1)
		return true
	}
	close(c.firing)
	c.firing = nil
	c.setWake()
	return false
}

// acquire informs the race detector that everything in the bubble, which is at rest, happened before what follows. If
// the test itself is in synctest.Wait, acquire cannot do that, and need not.
func acquire() {
	defer func() { _ = recover() }()
	synctest.Wait()
}

// Settle waits until the bubble is at rest and all due timers have fired. It must be called on the test's own
// goroutine.
func (c *Clock) Settle() {
	for {
		// The test may be in synctest.Wait only while no timer fires, because firing needs synctest.Wait itself.
		firing, quiet := c.state()
		switch {
		case quiet:
			synctest.Wait()
			return
		case firing != nil:
			<-firing
		default:
			rest()
		}
	}
}

// state returns the channel that is closed when the timers due now have fired, if they are being fired already, and
// whether no timer is due.
func (c *Clock) state() (firing <-chan struct{}, quiet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.firing, c.firing == nil && !c.anyDue()
}

// anyDue reports whether a timer is due.
func (c *Clock) anyDue() bool { return len(c.timers) > 0 && !c.timers[0].due.After(time.Now()) }

// Armed returns the timers of an owner, or of all owners if owner is nil, in the order in which they are due. Those of
// Silent owners are left out.
func (c *Clock) Armed(owner *Owner) (armed []*Timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.timers {
		if !t.owner.Silent && (owner == nil || owner == t.owner) {
			armed = append(armed, t)
		}
	}
	return armed
}
