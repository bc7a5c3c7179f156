package reconnecttest

import (
	"slices"
	"time"
)

// fate is how a connection breaks.
type fate int

const (
	unbroken fate = iota
	cut           // it is reset
	ends          // it is closed by the server, without an error
	silence       // it stays open, and nothing comes any more
	stall         // half of a write comes, then nothing for a while, then the rest: it is not broken
)

func (f fate) String() string { return [...]string{"", "cut", "end", "silence", "pause"}[f] }

// what says what happens to a connection.
func (f fate) what() string {
	return [...]string{"", "the connection is cut", "the server ends the connection", "the connection falls silent", "the connection pauses"}[f]
}

// scenario is one run of a client: what happens to its connections, and what its consumer does. Units are counted from
// 0: the events of a Feed, or the writes of a server. Values are counted from 1, and 0 is none.
type scenario struct {
	name  string // of its subtest
	where string // in reports
	noun  string // of a unit
	alone bool   // it is the only one, and its timeline is of interest

	undisturbed bool // the run makes the reference

	// The connections:

	fate    fate          // how the first connection that is about to send the unit at breaks
	at      int           // negative: none breaks
	first   bool          // in place of a break there is the first dial
	amid    bool          // a part of the unit is sent before:
	bytes   int           // so much, 0 for half of it
	pause   time.Duration // how long it stalls
	again   int           // before so many units later a connection that was made after the break breaks too:
	then    fate          // in this way; unbroken: in the same way
	refuse  int           // so many connections are refused after the break,
	ignore  int           // or so many have no answer,
	lasts   time.Duration // how long after the break no connection works:
	lets    int           // each sends so many units and is closed; negative: it is refused
	flaps   bool          // each connection breaks after its first value,
	after   time.Duration // or this long after its first unit
	restart bool          // the server is stopped at the break, and another one started after a second
	gone    int           // the number of events that are gone after the break, the first ones

	// The consumer:

	busyAt     int           // at this value it takes two minutes; after one, the connection is cut
	stopAt     int           // it stops at this value, and a second run begins
	cancelAt   int           // the context ends in the delivery of this value,
	cancelIn   time.Duration // or so long after the break
	afterwards time.Duration // all connections break so long after the last value, or the one before unit at, which is held back
}

// hour reports whether the outage lasts for an hour, and the client is to come back.
func (sc scenario) hour() bool { return sc.lasts == time.Hour && sc.cancelIn == 0 }

// returning reports whether the client is to return, and to leave nothing.
func (sc scenario) returning() bool { return sc.stopAt > 0 || sc.cancelAt > 0 || sc.cancelIn > 0 }

// before returns how much of a unit is sent before the break.
func (sc scenario) before(unit []byte) int {
	switch {
	case !sc.amid:
		return 0
	case sc.bytes == 0:
		return len(unit) / 2
	}
	return min(sc.bytes, len(unit))
}

// seams returns where a write breaks except in its middle: after its first byte, within a header of four bytes, and
// before and after each newline.
func seams(write []byte) (at []int) {
	at = []int{1, 2}
	for i, b := range write {
		if b == '\n' {
			at = append(at, i, i+1)
		}
	}
	slices.Sort(at)
	return slices.DeleteFunc(slices.Compact(at), func(i int) bool { return i <= 0 || i >= len(write) || i == len(write)/2 })
}

// fewSeams is at how many seams a client breaks in each way at least, if there are as many, and seamsOfWrite at how
// many of one of its many writes.
const fewSeams, seamsOfWrite = 6, 2

// pauses are those of connections that stall: longer than usual deadlines of reads.
var pauses = []time.Duration{2 * time.Second, 11 * time.Second, 61 * time.Second}

// The times of the checks.
const (
	dialing   = time.Millisecond
	latency   = 50 * time.Microsecond  // of what is written
	eventPace = 100 * time.Millisecond // between two events
	idlePause = 10 * time.Second
	lifeSign  = time.Second // between two of an idle connection that flaps and whose Feed has no Idle

	recovery    = 10 * time.Minute // within which a fault is over
	watching    = 10 * time.Second // for repeated values
	prompt      = time.Second      // within which a client returns when its context has ended
	slowness    = 2 * time.Minute  // of a busy consumer, and of a dial without an answer
	shortLife   = time.Minute      // of a busy consumer's connection
	lastQuiet   = 20 * time.Second // after the last value of an undisturbed client that dials
	worked      = 2 * time.Minute  // for which a connection that flaps has worked
	longestWait = 5 * time.Minute  // the longest one that is not a fault
	calm        = 5 * time.Second  // waits of so much need not grow, nor with jitter that takes a tenth of it
)

// flapCuts is how many connections are cut after they have worked, and firstWaits how many waits of an outage are its
// first ones.
const flapCuts, firstWaits = 12, 5

// most returns for how long the client may take.
func (sc scenario) most(c *check) time.Duration {
	d := 2*c.took + recovery + sc.lasts + sc.afterwards + sc.pause + time.Duration(sc.ignore)*slowness
	if sc.again > 0 {
		d += recovery
	}
	if sc.busyAt > 0 {
		d += slowness
	}
	if sc.flaps {
		d += time.Duration(max(c.units, flapCuts)) * (longestWait + sc.after)
	}
	return d
}
