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
	armed map[*systemWait]bool
}

func newSystemClock() *systemClock { return &systemClock{armed: make(map[*systemWait]bool)} }

var _ stream.Clock = (*systemClock)(nil)

// systemWait is one AfterFunc on the bubble's own clock.
type systemWait struct {
	wait
	clock *systemClock
	timer *time.Timer
}

func (c *systemClock) Now() time.Time { return time.Now() }

func (c *systemClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	w := &systemWait{clock: c, wait: wait{delay: d, armed: time.Now(), place: here(0)}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[w] = true
	w.timer = time.AfterFunc(d, func() {
		w.done()
		f()
	})
	return w
}

// Stop disarms the wait and reports whether that kept it from firing.
func (w *systemWait) Stop() bool {
	w.done()
	return w.timer.Stop()
}

func (w *systemWait) done() {
	w.clock.mu.Lock()
	delete(w.clock.armed, w)
	w.clock.mu.Unlock()
}

// left returns what is armed, in the order armed.
func (c *systemClock) left() (left []*systemWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.armed {
		left = append(left, w)
	}
	slices.SortFunc(left, func(a, b *systemWait) int { return a.armed.Compare(b.armed) })
	return left
}
