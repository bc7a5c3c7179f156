package timer

import (
	"math"
	"sync/atomic"
	"time"
)

// Watchdog detects that its owner is silent for longer than a period. Between Pause and Resume the owner may take any
// time.
//
// On the system clock a Pause with its Resume costs one clock reading and two atomic operations: the timer is not
// changed, and if it fires too early it is set again for the rest. An injected clock may call back under its own lock,
// where nothing may be called on it: there each Resume arms a timer of its own.
//
// Start, Pause, Resume and Stop must be called on the owner's goroutine.
type Watchdog struct {
	period   time.Duration
	onStrike func()

	// On the system clock the deadline, counted from begun; on an injected clock the number of the period; or one of the
	// states below. Only the owner begins a period. The first of the owner and the timer to act decides.
	state atomic.Int64

	begun time.Time
	timer *time.Timer // set while there is a deadline, or due runs

	clock   Clock   // an injected one, else nil
	number  int64   // of the last period
	pending Stopper // its timer
}

const (
	paused  = -1 - iota
	missed  // paused, and the system's timer has fired meanwhile: it is not set
	struck  // the owner was silent for too long
	stopped // the watch has ended
)

// Start begins the watch. If the owner is silent for too long, onStrike is called once, by the timer. Arming an
// injected clock is the last thing that Start and Resume do.
func (w *Watchdog) Start(c Clock, period time.Duration, onStrike func()) {
	w.period, w.onStrike = period, onStrike
	if !IsSystem(c) {
		w.clock = c
		w.arm()
		return
	}
	w.begun = time.Now()
	w.state.Store(int64(period))
	w.timer = time.AfterFunc(math.MaxInt64, w.due) // due, which uses it, must not be called before it is stored
	w.timer.Reset(period)
}

// arm begins a period on an injected clock. Timers of earlier periods have no effect any more.
func (w *Watchdog) arm() {
	w.number++
	n := w.number
	w.state.Store(n)
	w.pending = w.clock.AfterFunc(w.period, func() { w.strike(n) })
}

// due is called when the system's timer fires.
func (w *Watchdog) due() {
	for {
		state := w.state.Load()
		switch rest := time.Duration(state) - time.Since(w.begun); {
		case state < paused, state == paused && w.state.CompareAndSwap(paused, missed):
			return
		case state >= 0 && rest > 0:
			w.timer.Reset(rest)
			if w.state.Load() == stopped {
				w.timer.Stop()
			}
			return
		case state >= 0 && w.strike(state):
			return
		}
	}
}

// strike ends the watch if its state is still the given one.
func (w *Watchdog) strike(state int64) bool {
	first := w.state.CompareAndSwap(state, struck)
	if first {
		w.onStrike()
	}
	return first
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
	if w.clock != nil {
		w.pending.Stop()
		w.arm()
		return
	}
	deadline := min(time.Since(w.begun), math.MaxInt64-w.period) + w.period
	if !w.state.CompareAndSwap(paused, int64(deadline)) {
		w.state.Store(int64(deadline))
		w.timer.Reset(w.period)
	}
}

// Stop ends the watch and reports whether the owner was in time until then. It leaves no timer.
func (w *Watchdog) Stop() bool {
	inTime := w.state.Swap(stopped) != struck
	if w.clock != nil {
		w.pending.Stop()
	} else {
		w.timer.Stop()
	}
	return inTime
}
