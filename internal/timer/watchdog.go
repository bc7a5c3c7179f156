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
	onFire func()

	// The deadline, counted from begun, or one of the states below. While there is a deadline, the timer is set or Due
	// runs. Only the owner changes a deadline. The first of the owner and Due to act decides.
	state  atomic.Int64
	target time.Duration // the deadline that the timer is set for

	mu      sync.Mutex    // never held while the clock is called
	pending clock.Stopper // the last setting that had not fired when AfterFunc returned
}

const (
	paused  = -1 - iota
	missed  // paused, and the timer has fired meanwhile: it is not set
	struck  // the owner was silent for too long
	stopped // the watch has ended
)

// Start begins the watch. Each time the timer fires, onFire is called on its own goroutine and must call Due. Arming
// the clock is the last thing that Start does.
func (w *Watchdog) Start(c clock.Clock, period time.Duration, onFire func()) {
	w.clock, w.begun, w.period, w.onFire = c, c.Now(), period, onFire
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
		if deadline != w.target {
			if rest := deadline - w.elapsed(); rest > 0 {
				w.arm(deadline, min(rest, w.period)) // on a clock that was set back, more time remains
				return false
			}
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
func (w *Watchdog) elapsed() time.Duration { return max(clock.Since(w.clock, w.begun), 0) }

// arm sets the timer, which is not set, for the deadline in d > 0.
func (w *Watchdog) arm(deadline, d time.Duration) {
	w.target = deadline
	fired := false
	timer := w.clock.AfterFunc(d, func() {
		w.mu.Lock()
		again := fired // some mocks fire a timer twice
		fired = true
		w.mu.Unlock()
		if !again {
			w.onFire()
		}
	})
	w.mu.Lock()
	if !fired { // else a newer setting may be pending
		w.pending = timer
	}
	w.mu.Unlock()
	if w.state.Load() == stopped {
		w.disarm()
	}
}

func (w *Watchdog) disarm() {
	w.mu.Lock()
	timer := w.pending
	w.pending = nil
	w.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
}
