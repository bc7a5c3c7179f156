package streamtest

import (
	"container/heap"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/bubble"
)

// settle lets the bubble come to rest, and all that is due fire. It is for the test's own goroutine.
func (h *hand) settle() {
	for {
		if h.quiet() {
			synctest.Wait()
			if h.turn() {
				return
			}
			continue
		}
		bubble.Rest()
		if struck := h.strikeEnd(); struck != nil {
			<-struck
		}
	}
}

// quiet reports whether no strike is going on, and none begins at this instant: only then may the test be in
// synctest.Wait, which a strike needs for itself.
func (h *hand) quiet() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.striking == nil && (h.strikeAt.IsZero() || h.strikeAt.After(time.Now()))
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
	for began && h.strikeOne() {
	}
}

// strikeOne fires the first that is due, and reports whether there was one.
func (h *hand) strikeOne() bool {
	bubble.Rest()
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
