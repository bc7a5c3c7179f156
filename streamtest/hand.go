package streamtest

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"testing/synctest"
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
	rest  resting        // of the one strike there is at a time
	ticks sync.WaitGroup // timers of the mock that are fired and sleep a millisecond afterwards

	testRest resting // of the test's own goroutine

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
	h := &hand{mock: mock, gears: gears, rest: newResting(), testRest: newResting(), shown: now, base: now, began: now}
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

// look notes what has become of the timers on the mock itself.
func (h *hand) look() {
	if !h.lent.Load() {
		return
	}
	now := h.gears.armed(h.spare[:0], h.first)
	if !carryOn(h.raw, now) {
		seen := make(map[mockTimer]rank, len(h.raw))
		for _, t := range h.raw {
			seen[t.mockTimer] = t.rank
		}
		for i, t := range now {
			if r := seen[t.mockTimer]; r.due.Equal(t.due) {
				now[i].rank = r
			}
		}
	}
	for i := range now {
		if now[i].seq == 0 {
			now[i].seq = h.nextSeq()
			h.usedAt = time.Now()
		}
	}
	h.raw, h.spare = now, h.raw
}

// carryOn gives the timers now the ranks that they had before. It reports false if there is more to it than that
// some are gone and others have come to the end.
func carryOn(before, now []rawTimer) bool {
	k := 0
	for i, t := range now {
		for k < len(before) && before[k].mockTimer != t.mockTimer && len(before)-k > len(now)-i {
			k++
		}
		switch {
		case k == len(before):
		case before[k].mockTimer != t.mockTimer:
			return false
		default:
			if before[k].due.Equal(t.due) {
				now[i].rank = before[k].rank
			}
			k++
		}
	}
	return true
}

// settle lets the bubble come to rest, and all that is due fire. It is for the test's own goroutine.
func (h *hand) settle() {
	for {
		h.testRest.wait()
		if struck := h.strikeEnd(); struck != nil {
			<-struck
			continue
		}
		synctest.Wait() // for the race detector: all that has happened in the bubble happened before
		if h.turn() {
			return
		}
	}
}

// strikeEnd returns the channel that is closed when the present strike ends, nil without one.
func (h *hand) strikeEnd() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.striking
}

// turn takes in what is armed on the mock itself, and reports whether nothing is due.
func (h *hand) turn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.sync()
	h.look()
	h.aim(now)
	_, due, ok := h.earliest()
	return !ok || due.After(now)
}

// begin marks the beginning of a strike, unless there is one.
func (h *hand) begin() bool {
	if h.striking != nil {
		return false
	}
	h.striking = make(chan struct{})
	return true
}

// strikeAll fires all that is due.
func (h *hand) strikeAll() {
	h.mu.Lock()
	began := h.begin()
	h.mu.Unlock()
	if began {
		h.strikeOn()
	}
}

func (h *hand) strikeOn() {
	for h.strikeOne() {
	}
}

// strikeOne fires the first that is due, and reports whether there was one.
func (h *hand) strikeOne() bool {
	h.rest.wait()
	acquire()
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.sync()
	h.look()
	fire, due, ok := h.earliest()
	if ok && !due.After(now) {
		h.usedAt = time.Now()
		fire()
		h.aimMock(now)
		return true
	}
	close(h.striking)
	h.striking = nil
	h.strikeAt = time.Time{}
	h.aim(now)
	return false
}

// acquire tells the race detector that all that has happened in the bubble, which is at rest, happened before what
// follows. Where the test is in synctest.Wait itself it cannot, and need not.
func acquire() {
	defer func() { _ = recover() }()
	synctest.Wait()
}

// fireFirst is called by the mock when somebody else moves it.
func (h *hand) fireFirst() {
	h.mu.Lock()
	h.first = nil
	now := h.sync()
	var f func()
	if len(h.entries) > 0 && !h.entries[0].due.After(now) {
		f = heap.Pop(&h.entries).(*entry).f
	}
	h.aim(now)
	h.mu.Unlock()
	if f != nil {
		f()
	}
}

// fine is for how many milliseconds after the mock was last used the hand moves it millisecond by millisecond.
const fine = 5000

// advance lets d pass.
func (h *hand) advance(d time.Duration) {
	if !h.lent.Load() {
		time.Sleep(d)
		return
	}
	// Code that has the mock itself reads its time without asking the hand. When the bubble's clock wakes such code, the
	// mock has to show that instant already; so the hand moves it a nanosecond ahead of each millisecond, and in longer
	// steps when nobody has used it for long.
	now := time.Now()
	end := now.Add(d)
	h.used(now)
	for ; now.Before(end); now = time.Now() {
		step := max(time.Millisecond, (now.Sub(h.lastUsed()) / fine).Truncate(time.Millisecond))
		next := now.Truncate(step).Add(step)
		if next.After(end) {
			next = end
		}
		time.Sleep(next.Sub(now) - 1)
		h.mu.Lock()
		h.sync()
		h.shown = h.gears.move(func(shown time.Time) time.Time { return shown.Add(next.Sub(time.Now())) })
		h.mu.Unlock()
		time.Sleep(next.Sub(time.Now()))
		h.settle()
	}
}

func (h *hand) used(now time.Time) {
	h.mu.Lock()
	h.usedAt = now
	h.mu.Unlock()
}

func (h *hand) lastUsed() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usedAt
}

// stop ends the hand's own timers.
func (h *hand) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.striking = make(chan struct{})
	h.strike.Stop()
	h.rest.timer.Stop()
	h.testRest.timer.Stop()
}

// resting is a way to wait until a bubble has come to rest: as synctest.Wait, but any goroutine may use it while another
// is in Wait, which returns later. A timer of a bubble that is reset to now, while it waits for later, goes off when
// every goroutine is durably blocked, before time moves and before Wait returns.
type resting struct {
	timer *time.Timer
	done  chan struct{}
}

func newResting() resting {
	done := make(chan struct{}, 1)
	timer := time.AfterFunc(time.Hour, func() { done <- struct{}{} })
	timer.Stop()
	return resting{timer, done}
}

func (r resting) wait() {
	r.timer.Reset(time.Hour)
	r.timer.Reset(0)
	<-r.done
}
