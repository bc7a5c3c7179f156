package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// mapTimer is the one timer of a run. It ticks on a channel on which any number of workers may wait; a tick says "look
// again", and one too many does no harm. It is set by one goroutine at a time.
type mapTimer struct {
	C <-chan time.Time

	clock   stream.Clock
	system  *time.Timer // on the system's clock
	ticks   chan time.Time
	pending stream.Stopper // on another one
}

func newMapTimer(clock stream.Clock) *mapTimer {
	t := &mapTimer{clock: clock}
	if _, ok := clock.(interface{ SystemClock() }); ok {
		t.system = time.NewTimer(time.Hour)
		t.system.Stop()
		t.C = t.system.C
		return t
	}
	t.ticks = make(chan time.Time, 1)
	t.C = t.ticks
	return t
}

// set has the timer tick when the given time since base has come, instead of when it was set for before.
func (t *mapTimer) set(base time.Time, due int64) {
	left := func() time.Duration { return time.Duration(due) - t.clock.Now().Sub(base) }
	d := left()
	if t.system != nil {
		t.system.Reset(d)
		return
	}
	t.stop()
	if d > 0 {
		t.pending = t.clock.AfterFunc(d, t.tick)
		d = left()
	}
	if d <= 0 { // a clock that is moved by hand may have been moved in between
		t.tick()
	}
}

func (t *mapTimer) tick() {
	select {
	case t.ticks <- time.Time{}:
	default: // one is there already
	}
}

func (t *mapTimer) stop() {
	if t.system != nil {
		t.system.Stop()
	}
	if t.pending != nil {
		t.pending.Stop()
		t.pending = nil
	}
}
