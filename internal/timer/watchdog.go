package timer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/clock"
)

// Watchdog detects that its owner is silent for longer than a period. Between Pause and Resume the owner may take any
// time. A Pause with its Resume costs one clock reading and two atomic operations: the timer is not changed, and if it
// fires too early it is set again for the rest.
//
// Start, Pause, Resume and Stop must be called on the owner's goroutine, Due on the timer's.
type Watchdog struct {
	clock  clock.Clock
	begun  time.Time
	period time.Duration
	fired  func()
	system *time.Timer // the only timer, on the system clock

	// The deadline, counted from begun, or one of the states below. While there is a deadline, the timer is set or Due
	// runs. Only the owner changes a deadline. The first of the owner and Due to act decides.
	state  atomic.Int64
	target time.Duration // the deadline that the timer is set for

	mu      sync.Mutex    // never held while the clock is called
	number  int           // the number of the setting that may fire, on an injected clock
	pending clock.Stopper // the last setting, fired or not
	armed   bool          // there is one
}

const (
	paused  = -1 - iota
	missed  // paused, and the timer has fired meanwhile: it is not set
	struck  // the owner was silent for too long
	stopped // the watch has ended
)

// Start begins the watch. Each time the timer fires, fired is called on its own goroutine and must call Due. Arming the
// clock is the last thing that Start does.
func (w *Watchdog) Start(c clock.Clock, period time.Duration, fired func()) {
	w.clock, w.period, w.fired = c, period, fired
	w.begun = c.Now()
	if clock.IsSystem(c) {
		w.system = time.AfterFunc(math.MaxInt64, fired)
	}
	w.state.Store(int64(period))
	w.arm(period, period)
}

// Due reports whether the owner was silent for too long. It returns true only once.
func (w *Watchdog) Due() bool {
	for {
		state := w.state.Load()
		if state == paused && w.state.CompareAndSwap(paused, missed) || state < paused {
			return false
		}
		if state == paused {
			continue
		}
		deadline := time.Duration(state)
		left := time.Duration(0)
		if deadline != w.target {
			left = deadline - w.elapsed()
		}
		if left > 0 {
			w.arm(deadline, min(left, w.period)) // on a clock that was set back, more time is left
			return false
		}
		if w.state.CompareAndSwap(state, struck) {
			return true
		}
	}
}

// Pause reports whether the owner is in time. If so, the watchdog does nothing until Resume.
func (w *Watchdog) Pause() bool {
	state := w.state.Load()
	if state < 0 {
		return state != struck
	}
	return w.state.CompareAndSwap(state, paused)
}

// Resume begins a new period.
func (w *Watchdog) Resume() {
	deadline := w.elapsed() + w.period
	if deadline < 0 {
		deadline = math.MaxInt64
	}
	if w.state.CompareAndSwap(paused, int64(deadline)) {
		return
	}
	w.state.Store(int64(deadline))
	w.arm(deadline, w.period)
}

// Stop ends the watch and reports whether the owner was in time until then. A concurrent Due leaves no timer.
func (w *Watchdog) Stop() bool {
	inTime := w.state.Swap(stopped) != struck
	w.disarm()
	return inTime
}

// elapsed returns the time since Start, 0 on a clock that was set back to before it.
func (w *Watchdog) elapsed() time.Duration {
	if w.system != nil {
		return time.Since(w.begun) // cheaper than time.Now: reads only the monotonic clock
	}
	return max(w.clock.Now().Sub(w.begun), 0)
}

// arm sets the timer, which is not set, for the deadline in d > 0.
func (w *Watchdog) arm(deadline, d time.Duration) {
	w.target = deadline
	if w.system != nil {
		w.system.Reset(d)
	} else {
		w.armInjected(d)
	}
	if w.state.Load() == stopped {
		w.disarm()
	}
}

func (w *Watchdog) armInjected(d time.Duration) {
	w.mu.Lock()
	number := w.number
	w.mu.Unlock()
	timer := w.clock.AfterFunc(d, func() {
		if w.take(number) {
			w.fired()
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.number == number {
		w.pending, w.armed = timer, true
	}
}

// take reports whether the setting with this number may fire; some mocks fire a timer twice.
func (w *Watchdog) take(number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.number != number {
		return false
	}
	w.number++
	return true
}

func (w *Watchdog) disarm() {
	if w.system != nil {
		w.system.Stop()
		return
	}
	w.mu.Lock()
	timer, armed := w.pending, w.armed
	w.armed = false
	w.mu.Unlock()
	if armed {
		timer.Stop()
	}
}
