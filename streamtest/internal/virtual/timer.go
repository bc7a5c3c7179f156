package virtual

import (
	"cmp"
	"container/heap"
	"fmt"
	"time"
)

// Timer is one AfterFunc on a Clock.
type Timer struct {
	rank
	clock   *Clock
	owner   *Owner
	f       func()
	index   int // in the heap; -1: not armed
	delay   time.Duration
	armed   time.Time
	callers Callers
}

// String says when the timer was armed, for how long, and where.
func (t *Timer) String() string {
	return fmt.Sprintf("%v, armed at %s by %s%v", t.delay, t.armed.Sub(Start), t.callers.Operator(), t.callers)
}

// rank orders timers: by the instant; then what marble sources do, in the order in which they were made and, of one
// source, in the order in which it was subscribed to, before all else, as if it had been armed before the test began;
// then in the order armed.
type rank struct {
	due    time.Time
	source int // which marble source, from 1; 0: none
	run    int // which run of it, from 1; 0 for a hot one
	number int // which timer
}

func (r rank) compare(other rank) int {
	last := func(source int) uint { return uint(source) - 1 } // none comes last
	return cmp.Or(
		r.due.Compare(other.due),
		cmp.Compare(last(r.source), last(other.source)),
		cmp.Compare(r.run, other.run),
		cmp.Compare(r.number, other.number),
	)
}

// timers is a heap.
type timers []*Timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].compare(h[j].rank) < 0 }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timers) Push(x any) {
	t := x.(*Timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}

var _ heap.Interface = (*timers)(nil)
