package check

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// LockedClock is the system clock with a lock, under which it also calls back, as the FakeClock of k8s.io/utils does. A
// call of the clock in a callback, which would never return, is a failure of T.
type LockedClock struct {
	T testing.TB

	mu      sync.Mutex
	calling atomic.Pointer[[]byte] // the goroutine that calls back
}

// Now returns time.Now().
func (c *LockedClock) Now() time.Time {
	defer c.lock("Now")()
	return time.Now()
}

// AfterFunc calls f after d, under the lock.
func (c *LockedClock) AfterFunc(d time.Duration, f func()) *LockedTimer {
	defer c.lock("AfterFunc")()
	t := &LockedTimer{clock: c}
	t.timer = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.stopped {
			return
		}
		t.stopped = true
		me := goroutine()
		c.calling.Store(&me)
		f()
		c.calling.Store(nil)
	})
	return t
}

// LockedTimer is a timer of a LockedClock.
type LockedTimer struct {
	clock   *LockedClock
	timer   *time.Timer
	stopped bool // or fired; under the clock's lock
}

// Stop stops the timer.
func (t *LockedTimer) Stop() bool {
	defer t.clock.lock("Stop")()
	before := t.stopped
	t.stopped = true
	t.timer.Stop()
	return !before
}

func (c *LockedClock) lock(method string) (unlock func()) {
	if calling := c.calling.Load(); calling != nil && bytes.Equal(*calling, goroutine()) {
		c.T.Errorf("%s is called in a callback of the clock, which holds its lock:\n%s", method, debug.Stack())
		return func() {}
	}
	c.mu.Lock()
	return c.mu.Unlock
}

// goroutine returns the name of the present goroutine.
func goroutine() []byte {
	name := make([]byte, 32)
	name = name[:runtime.Stack(name, false)] // "goroutine 7 [running]:…"
	return bytes.Fields(name)[1]
}
