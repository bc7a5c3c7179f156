package streamtest

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// entry is one AfterFunc on a session's clock.
type entry struct {
	rank
	hand  *hand
	f     func()
	index int // in the heap; -1: not armed
	delay time.Duration
	armed time.Time
	place place
	owner *ledger
}

// Stop disarms the entry and reports whether that kept it from firing.
func (e *entry) Stop() bool { return e.hand.drop(e) }

// String says when e was armed, for how long, and where.
func (e *entry) String() string {
	return fmt.Sprintf("%v, armed at %s by %s%v", e.delay, e.armed.Sub(bubbleStart), e.place.operator(), e.place)
}

// bubbleStart is the time at which every bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// rank orders what is armed: by the instant; then what marble sources do, in the order in which they were made and, of
// one source, in the order in which they were subscribed to, before all else, as if it had been armed before the test
// began; then in the order armed.
type rank struct {
	due    time.Time
	source int // which marble source, from 1; 0: none
	run    int // which run of it, from 1; 0 for a hot one
	seq    int
}

func (r rank) before(other rank) bool {
	if c := r.due.Compare(other.due); c != 0 {
		return c < 0
	}
	if r.source != other.source {
		return other.source == 0 || r.source != 0 && r.source < other.source
	}
	if r.run != other.run {
		return r.run < other.run
	}
	return r.seq < other.seq
}

// entries is a heap of what is armed.
type entries []*entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return h[i].before(h[j].rank) }
func (h entries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entries) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entries) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}

var _ heap.Interface = (*entries)(nil)

// ledger is who answers for entries: one subscription, or all that the test itself does.
type ledger struct{ own bool } // own: the session's, never left behind by the test

// handClock is the mock as a context carries it.
type handClock struct {
	hand   *hand
	owner  *ledger
	source int
	run    int
}

var _ stream.Clock = handClock{}

func (c handClock) Now() time.Time { return c.hand.now() }

func (c handClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if f == nil {
		panic("streamtest: AfterFunc: f is nil")
	}
	if d <= 0 {
		go f()
		return &entry{hand: c.hand, index: -1}
	}
	return c.arm(d, f)
}

// arm is AfterFunc for d ≥ 0; what is due at once fires when all has come to rest.
func (c handClock) arm(d time.Duration, f func()) *entry {
	e := &entry{hand: c.hand, f: f, index: -1, delay: d, owner: c.owner, rank: rank{source: c.source, run: c.run}, place: here(1)}
	c.hand.add(e)
	return e
}

// left returns what is armed by the owners that are asked for, in the order in which it falls due.
func (h *hand) left(by func(owner *ledger) bool) (left []*entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		if by(e.owner) {
			left = append(left, e)
		}
	}
	slices.SortFunc(left, func(a, b *entry) int {
		if a.before(b.rank) {
			return -1
		}
		return 1
	})
	return left
}
