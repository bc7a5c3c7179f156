package virtual

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Timer is one AfterFunc on a Clock.
type Timer struct {
	rank
	clock   *Clock
	owner   *Owner
	f       func()
	delay   time.Duration
	armed   time.Time
	callers Callers
}

// String returns when the timer was armed, for how long, and where.
func (t *Timer) String() string {
	return fmt.Sprintf("%v, armed at %s by %s%v", t.delay, t.armed.Sub(Start), t.callers.Operator(), t.callers)
}

// rank is the order of timers. First comes the instant. At one instant, the timers of marble sources come first, in the
// order in which the sources were made and, for one source, in the order of its subscriptions, as if they had been
// armed before the test began. Then come the others in the order armed.
type rank struct {
	due    time.Time
	source int // number of the marble source, from 1; 0 for none
	run    int // number of its run, from 1; 0 for a hot one
	number int // number of the timer
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

// timers are those that are armed, in the order in which they fire.
type timers []*Timer

// find returns the index of a timer, or the one at which it would be, and whether it is armed.
func (all timers) find(t *Timer) (i int, armed bool) {
	return slices.BinarySearchFunc(all, t.rank, func(other *Timer, r rank) int { return other.compare(r) })
}
