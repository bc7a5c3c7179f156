package streamtest

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// wait is one AfterFunc on a session's clock.
type wait struct {
	rank
	hand  *hand
	f     func()
	index int // in the heap; -1: not armed
	delay time.Duration
	armed time.Time
	place place
	owner *ledger
}

// Stop disarms the wait and reports whether that kept it from firing.
func (w *wait) Stop() bool { return w.hand.drop(w) }

// String says when w was armed, for how long, and where.
func (w *wait) String() string {
	return fmt.Sprintf("%v, armed at %s by %s%v", w.delay, w.armed.Sub(bubbleStart), w.place.operator(), w.place)
}

// bubbleStart is the time at which every bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// rank orders what is armed: by the instant; then by the phase, the time between two rests of the bubble, in which it
// was armed. What is armed in one phase may be armed by goroutines side by side, so marble sources come before all else,
// in the order in which they were made; the rest follows in the order armed.
type rank struct {
	due    time.Time
	phase  int
	source int // which marble source, from 1; 0: none
	seq    int
}

func (r rank) before(other rank) bool {
	if c := r.due.Compare(other.due); c != 0 {
		return c < 0
	}
	if r.phase != other.phase {
		return r.phase < other.phase
	}
	if r.source != other.source {
		return other.source == 0 || r.source != 0 && r.source < other.source
	}
	return r.seq < other.seq
}

// waits is a heap of what is armed.
type waits []*wait

func (h waits) Len() int           { return len(h) }
func (h waits) Less(i, j int) bool { return h[i].before(h[j].rank) }
func (h waits) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waits) Push(x any) {
	w := x.(*wait)
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *waits) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.index = -1
	return w
}

var _ heap.Interface = (*waits)(nil)

// ledger is who answers for waits: one subscription, or all that the test itself does.
type ledger struct{ own bool } // own: the session's, never left behind by the test

// handClock is the mock as a context carries it.
type handClock struct {
	hand   *hand
	owner  *ledger
	source int
}

var _ stream.Clock = handClock{}

func (c handClock) Now() time.Time { return c.hand.now() }

func (c handClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if f == nil {
		panic("streamtest: AfterFunc: f is nil")
	}
	w := &wait{hand: c.hand, f: f, index: -1, delay: d, owner: c.owner, rank: rank{source: c.source}}
	if d <= 0 {
		go f()
		return w
	}
	w.place = here(0)
	c.hand.add(w)
	return w
}

// left returns what is armed and belongs to owner, in the order in which it falls due.
func (h *hand) left(owner *ledger) (left []*wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.waits {
		if w.owner == owner {
			left = append(left, w)
		}
	}
	slices.SortFunc(left, func(a, b *wait) int {
		if a.before(b.rank) {
			return -1
		}
		return 1
	})
	return left
}
