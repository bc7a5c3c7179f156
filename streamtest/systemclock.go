package streamtest

import (
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// systemClock is the bubble's own clock, with a note of what is armed on it.
type systemClock struct {
	mu    sync.Mutex
	armed map[*systemEntry]bool
}

func newSystemClock() *systemClock { return &systemClock{armed: make(map[*systemEntry]bool)} }

var _ stream.Clock = (*systemClock)(nil)

// systemEntry is one AfterFunc on the bubble's own clock.
type systemEntry struct {
	entry
	clock *systemClock
	timer *time.Timer
}

func (c *systemClock) Now() time.Time { return time.Now() }

func (c *systemClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if f == nil {
		panic("streamtest: AfterFunc: f is nil")
	}
	e := &systemEntry{clock: c, entry: entry{delay: d, armed: time.Now(), place: here(0)}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[e] = true
	e.timer = time.AfterFunc(d, func() {
		e.done()
		f()
	})
	return e
}

// Stop disarms the entry and reports whether that kept it from firing.
func (e *systemEntry) Stop() bool {
	e.done()
	return e.timer.Stop()
}

func (e *systemEntry) done() {
	e.clock.mu.Lock()
	delete(e.clock.armed, e)
	e.clock.mu.Unlock()
}

// left returns what is armed, in the order armed.
func (c *systemClock) left() (left []*systemEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.armed {
		left = append(left, e)
	}
	slices.SortFunc(left, func(a, b *systemEntry) int { return a.armed.Compare(b.armed) })
	return left
}
