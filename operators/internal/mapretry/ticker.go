package mapretry

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// ticker is the only timer of a run. It ticks on a channel on which any number of workers may wait. A tick only makes a
// worker check again, so an extra tick does no harm. One goroutine at a time may set it.
type ticker struct {
	C <-chan time.Time

	clock   stream.Clock
	start   time.Time
	system  *time.Timer // on the system clock
	ticks   chan time.Time
	pending stream.Stopper // what is set; nil if it has been stopped
}

func newTicker(c stream.Clock, start time.Time) *ticker {
	t := &ticker{clock: c, start: start}
	if timer.IsSystem(c) {
		t.system = time.NewTimer(time.Hour)
		t.system.Stop()
		t.C = t.system.C
		return t
	}
	t.ticks = make(chan time.Time, 1)
	t.C = t.ticks
	return t
}

// set makes the timer tick at the given time, instead of at the time set before.
func (t *ticker) set(due time.Duration) {
	left := t.left(due)
	if t.system != nil {
		t.system.Reset(left)
		t.pending = t.system
		return
	}
	t.stop()
	if left > 0 {
		t.pending = t.clock.AfterFunc(left, t.tick)
		left = t.left(due)
	}
	if left <= 0 { // a mock clock may have been moved in between
		t.tick()
	}
}

// left returns the time until due.
func (t *ticker) left(due time.Duration) time.Duration { return due - t.clock.Now().Sub(t.start) }

func (t *ticker) tick() {
	select {
	case t.ticks <- time.Time{}:
	default: // a tick is there already
	}
}

func (t *ticker) stop() {
	if t.pending != nil {
		t.pending.Stop()
		t.pending = nil
	}
}
