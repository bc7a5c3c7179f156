package streamtest

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// hand moves the mock of a session in step with the bubble's own clock, and fires what is armed.
//
// The bubble's clock drives: for the earliest instant at which something is armed on the mock, the hand keeps one timer
// in the bubble. When that goes off the hand strikes: it fires what is due one by one, in order, and lets the bubble
// come to rest before each. So the mock needs nobody to move it, code on either clock sees the same time, and what the
// bubble's clock has for an instant comes before what the mock has.
//
// What is armed through contexts is not on the mock itself, but for the earliest: a Mock sorts its timers each time it is
// touched, and loses their order beyond twelve.
type hand struct {
	mock  *clock.Mock
	gears gears
	lent  atomic.Bool    // somebody has the mock itself
	ticks sync.WaitGroup // timers of the mock that are fired and sleep a millisecond afterwards

	mu          sync.Mutex // never held while a callback runs or a wait lasts
	shown       time.Time  // what the mock was last seen to show
	base, began time.Time  // the mock showed base when the bubble's clock showed began
	seq         int
	entries     entries
	raw, spare  []rawTimer // the timers on the mock itself, as last seen; a slice to see them again
	usedAt      time.Time  // when something was armed there or fired, on the bubble's clock

	strike   *time.Timer // goes off, on the bubble's clock, when the earliest of all is due
	strikeAt time.Time
	striking chan struct{} // closed when the present strike ends; nil: none
	first    *clock.Timer  // on the mock: the earliest entry, for those who move the mock themselves
	firstDue time.Time
}

func newHand() (*hand, error) {
	mock := clock.NewMock()
	gears, err := openGears(mock)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	gears.move(func(time.Time) time.Time { return now })
	h := &hand{mock: mock, gears: gears, shown: now, base: now, began: now}
	h.strike = time.AfterFunc(time.Hour, h.strikeAll)
	h.strike.Stop()
	return h, nil
}

// sync brings the mock up to the bubble's clock and returns what it shows. A mock that somebody has moved goes on from
// there.
func (h *hand) sync() time.Time {
	now := time.Now()
	h.shown = h.gears.move(func(shown time.Time) time.Time {
		if !shown.Equal(h.shown) {
			h.base, h.began = shown, now
		}
		if t := h.base.Add(now.Sub(h.began)); t.After(shown) {
			return t
		}
		return shown
	})
	return h.shown
}

func (h *hand) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sync()
}

// add arms e.
func (h *hand) add(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.sync()
	e.due = now.Add(e.delay)
	e.armed = time.Now()
	e.seq = h.nextSeq()
	heap.Push(&h.entries, e)
	h.aim(now)
}

// drop disarms e and reports whether it was armed.
func (h *hand) drop(e *entry) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.index < 0 {
		return false
	}
	heap.Remove(&h.entries, e.index)
	h.aim(h.sync())
	return true
}

func (h *hand) nextSeq() int {
	h.seq++
	return h.seq
}

// aim sets both timers for the earliest that is armed.
func (h *hand) aim(now time.Time) {
	h.aimMock(now)
	if h.striking != nil {
		return // it aims when it has done
	}
	_, due, ok := h.earliest()
	if !ok {
		h.strike.Stop()
		h.strikeAt = time.Time{}
		return
	}
	d := max(due.Sub(now), 0)
	if at := time.Now().Add(d); !at.Equal(h.strikeAt) {
		h.strikeAt = at
		h.strike.Reset(d)
	}
}

func (h *hand) aimMock(now time.Time) {
	if len(h.entries) == 0 {
		if h.first != nil {
			h.first.Stop()
			h.first = nil
		}
		return
	}
	due := h.entries[0].due
	if h.first != nil {
		if h.firstDue.Equal(due) {
			return
		}
		h.first.Stop()
	}
	h.firstDue = due
	h.first = h.mock.AfterFunc(due.Sub(now), h.fireFirst)
}

// earliest returns what falls due first: an entry, or a timer of the mock itself.
func (h *hand) earliest() (fire func(), due time.Time, ok bool) {
	var best rank
	if len(h.entries) > 0 {
		e := h.entries[0]
		best, ok = e.rank, true
		fire = func() {
			heap.Pop(&h.entries)
			go e.f()
		}
	}
	for _, t := range h.raw {
		if !ok || t.before(best) {
			best, ok = t.rank, true
			fire = func() {
				h.ticks.Go(func() { t.Tick(t.due) })
			}
		}
	}
	return fire, best.due, ok
}

// stop ends the hand's own timers.
func (h *hand) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.striking = make(chan struct{})
	h.strike.Stop()
}
