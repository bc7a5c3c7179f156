package virtual

import (
	"cmp"
	"fmt"
	"time"
)

// Timer is one AfterFunc on a Clock.
type Timer struct {
	clock   *Clock
	owner   *Owner
	f       func()
	delay   time.Duration
	armedAt time.Time
	callers Callers

	// What decides when it fires:
	due    time.Time
	source int // number of the marble source, from 1; 0 for none
	run    int // number of its run, from 1; 0 for a hot one
	number int // number of the timer
}

// String returns when the timer was armed, for how long, and where.
func (t *Timer) String() string {
	return fmt.Sprintf("%v, armed at %s by %s%v", t.delay, t.armedAt.Sub(Start), t.callers.Operator(), t.callers)
}

// compare is the order in which timers fire. First comes the instant. At one instant, the timers of marble sources come
// first, in the order in which the sources were made and, for one source, in the order of its subscriptions, as if they
// had been armed before the test began. Then come the others in the order armed.
func (t *Timer) compare(other *Timer) int {
	last := func(source int) uint { return uint(source) - 1 } // none comes last
	return cmp.Or(
		t.due.Compare(other.due),
		cmp.Compare(last(t.source), last(other.source)),
		cmp.Compare(t.run, other.run),
		cmp.Compare(t.number, other.number),
	)
}
