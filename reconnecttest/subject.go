package reconnecttest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
)

// subject is a client under test, of either check.
type subject struct {
	check string // CheckResume or Check
	expected
	// begin starts what a client connects to. It returns the function that runs the client, and the one that ends the rest.
	begin func(b *virtual.Bubble, n *network) (run runFunc, end func())
	read  func(n *network, quiet time.Duration) bool // the undisturbed client has delivered all that there is
	left  func(b *virtual.Bubble, n *network) []virtual.Goroutine

	unit func(i int) string // where a unit is in a report
	amid bool               // units are writes, which can break in the middle

	ref    reference
	of     []int         // the unit of each value
	took   time.Duration // until the reference was complete
	units  int
	ends   bool // undisturbed, the client ends by itself
	timely bool // it delivers values that come with time, which cannot be compared

	positions map[int]int     // of a client whose connection was cut before an event, at which it came back
	reported  map[string]bool // the kinds of faults
}

func newSubject(check string) *subject {
	return &subject{check: check, positions: map[int]int{}, reported: map[string]bool{}}
}

// scenario is one run of a client: what happens to its connections, and what its consumer does. Values are counted from
// 1, and 0 is none.
type scenario struct {
	outage
	where      string
	busy       int           // the consumer of this value takes two minutes; after one, the connection is cut
	stop       int           // the consumer stops at this value, and a second run begins
	cancel     int           // the context ends in the delivery of this value,
	cancelIn   time.Duration // or so long after the break
	afterwards time.Duration // all connections break so long after the last value
	hour       bool          // the outage lasts for an hour
}

// outcome is what a run has shown.
type outcome struct {
	scenario
	*tally
	net      record // until the context ended
	second   *tally // of the second run
	frozen   []virtual.Goroutine
	ended    bool // by itself
	err      error
	panicked string
	late     []virtual.Goroutine // the client, a second after the end of its context
	left     []virtual.Goroutine
	grown    []virtual.Goroutine // what ran after an hour of attempts

	// Of the undisturbed run:
	read   bool          // it has delivered all that there is
	values int           // that count
	took   time.Duration // until the last of them
	timely bool          // more values came with time
}

// The times of the checks.
const (
	recovery  = 10 * time.Minute // within which a fault is over
	watch     = 10 * time.Second // for which repeated values are watched
	prompt    = time.Second      // within which a client returns when its context has ended
	standing  = 3 * time.Second  // of real time, after which a bubble is frozen
	slowness  = 2 * time.Minute  // of a busy consumer
	shortLife = time.Minute      // of its connection
)

// alone is held while a client that dials runs, so that tests in parallel do not share its pools.
var alone sync.Mutex

// play runs the client through a scenario, in a bubble of its own.
func (s *subject) play(t *testing.T, sc scenario) *outcome {
	if s.amid {
		// A timer of another bubble, from a pool of the client's, would end the process. The second collection empties
		// what the first one has kept. Streams have no such pools.
		alone.Lock()
		defer alone.Unlock()
		runtime.GC()
		runtime.GC()
	}
	o := &outcome{scenario: sc}
	if frozen := virtual.Try(t, standing, func(b *virtual.Bubble) { s.playIn(b, o) }); frozen != nil {
		return &outcome{scenario: sc, frozen: frozen} // the bubble may still write to o
	}
	return o
}

func (s *subject) playIn(b *virtual.Bubble, o *outcome) {
	ctx, cancel := context.WithCancelCause(b.Context)
	defer cancel(nil)
	n := newNetwork(o.outage)
	defer n.stop()
	client, end := s.begin(b, n)
	defer end()
	unit := func() int { return n.seen().units - 1 }
	o.tally = newTally(s.ref, unit)
	r := client.start(ctx, o.consumer(n, o.tally, cancel))
	o.until(s, n, r, cancel)
	select {
	case <-r.done:
		o.ended, o.err, o.panicked = o.stop == 0 && ctx.Err() == nil, r.err, r.panicked
	default:
	}
	if o.stop > 0 && r.within(prompt) {
		o.second = newTally(s.ref, unit)
		r = client.start(ctx, o.consumer(n, o.second, cancel))
		if o.wait(n, r, s.took+recovery, o.second.complete); r.within(0) {
			o.err = r.err
		}
	}
	if o.hour {
		synctest.Wait()
		o.grown = s.left(b, n)
	}
	o.net = n.seen()
	cancel(errCause)
	switch {
	case !r.within(prompt):
		o.late = []virtual.Goroutine{b.Goroutine(r.id)}
		n.stop()
		r.within(time.Hour) // until it dials, so that it does not stay when the bubble has ended
	case o.cancel > 0 || o.cancelIn > 0 || o.stop > 0:
		if synctest.Wait(); len(s.left(b, n)) > 0 {
			time.Sleep(prompt)
			synctest.Wait()
			if o.left = s.left(b, n); len(o.left) > 0 {
				time.Sleep(time.Hour) // what only sleeps ends
			}
		}
	}
}

// consumer returns the consumer of the client's values.
func (o *outcome) consumer(n *network, t *tally, cancel context.CancelCauseFunc) func(v any) bool {
	return func(v any) bool {
		number := t.enter(v)
		first := t == o.tally
		if first && number == o.busy {
			time.AfterFunc(shortLife, func() { n.breakAll(cut) })
			time.Sleep(slowness)
		}
		if first && number == o.cancel {
			cancel(errCause)
		}
		n.delivered()
		n.wake()
		return !first || number != o.stop
	}
}

// until lets time pass until the scenario is over.
func (o *outcome) until(s *subject, n *network, r *clientRun, cancel context.CancelCauseFunc) {
	most := 2*s.took + recovery + o.lasts + o.hold + 2*time.Duration(s.units)*o.after + slowness
	switch {
	case s.ref == nil:
		o.undisturbed(s, n, r)
		return
	case o.cancelIn > 0:
		if o.wait(n, r, most, func() bool { return !n.seen().broken.IsZero() }) && !r.within(o.cancelIn) {
			cancel(errCause)
		}
		return
	case o.cancel > 0 || o.stop > 0:
		number := max(o.cancel, o.stop)
		o.wait(n, r, most, func() bool { return o.tally.entered() >= number })
		return
	case o.gone > 0:
		from := s.first(o.gone)
		if o.wait(n, r, time.Hour, func() bool { return len(o.lost(from)) == 0 }) {
			r.within(watch)
		}
		return
	case o.afterwards > 0:
		if !o.wait(n, r, most, o.complete) || r.within(o.afterwards) {
			return
		}
		n.breakAll(o.fate)
	}
	breaks := o.fate != works || o.busy > 0 || o.hold > 0
	if o.wait(n, r, most, func() bool { return o.complete() && (!breaks || n.seen().back) }) {
		r.within(watch)
	}
}

// undisturbed lets time pass until the client has delivered all that there is, and then watches for what comes with
// time.
func (o *outcome) undisturbed(s *subject, n *network, r *clientRun) {
	start := time.Now()
	ended := false
	for most := time.Hour + 2*time.Duration(s.units)*eventPace; !o.read && !ended && time.Since(start) < most; {
		o.read, ended = s.read(n, o.quiet(start)), r.within(time.Second)
	}
	o.values = o.entered()
	o.took = time.Since(start) - o.quiet(start)
	if !ended {
		r.within(2*idlePause + time.Second)
		o.timely = o.entered() > o.values
	}
}

// wait lets time pass until the condition holds, and reports whether it does. It waits no more when the client returns,
// is a hot loop, or d is over.
func (o *outcome) wait(n *network, r *clientRun, d time.Duration, condition func() bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !condition() {
		select {
		case <-n.news:
			if n.seen().hot {
				return false
			}
		case <-r.done:
			return condition()
		case <-timer.C:
			return false
		}
	}
	return true
}
