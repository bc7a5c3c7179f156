package sim

import (
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// The kinds of events of an Overload.
const (
	arrives  int32 = iota // an operation arrives
	finishes              // the server has finished a request
	expires               // an attempt's timeout is over
	retries               // a wait is over
	refused               // a caller knows that its request was refused
)

// due is an event of an Overload. It is void if its call's version has changed since.
type due struct {
	at      time.Duration
	order   int64 // events of one instant run in the order in which they were scheduled
	kind    int32
	who     int32
	version uint32
}

// Before orders a heap.
func (e due) Before(f due) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.order < f.order
}

// call is a running operation of one layer.
type call struct {
	operation
	began   time.Duration
	start   time.Duration // of the current attempt
	layer   int32
	above   int32  // the call of the layer above, of which this is an attempt, or none
	below   int32  // the call of the layer below, which is the current attempt, or none
	well    bool   // it is counted as healthy
	version uint32 // changes with each step of the call; it makes earlier events and requests void
}

const none int32 = -1

// layer is a running Layer.
type layer struct {
	policies []retry.Policy
	next     int // the process of the next operation
	timeout  time.Duration
	timed    bool
	takes    float64
}

// overload is a running Overload.
type overload struct {
	Overload
	arrivals      *rand.Rand
	failing       *rand.Rand
	layers        []layer
	calls         []call
	free          []int32 // unused entries of calls
	events        heap[due]
	scheduled     int64
	arrived       int // entries of the Trace that were scheduled
	now           time.Duration
	still         int  // requests at the current instant
	endless       bool // a layer has neither a limit nor a budget, or there are loops
	queue         fifo
	busy          bool
	at            request // the one that the server works on
	wait, latency moments
	health        health
	runsOn        bool // without a Horizon of its own
	res           OverloadResult
}

func newOverload(o Overload) *overload {
	s := &overload{Overload: o, runsOn: o.Horizon == 0}
	s.Horizon = o.latest()
	var policies *rand.Rand
	s.arrivals, policies, s.failing = o.random()
	for _, l := range o.Layers {
		timeout, timed := l.Policy.AttemptTimeout()
		s.layers = append(s.layers, layer{policies: l.policies(policies), timeout: timeout, timed: timed, takes: l.FailureTakes})
		s.endless = s.endless || !ends(l.Policy)
	}
	s.res.Flow = newFlow(o.bin(), s.Horizon)
	s.health = newHealth(o.Trigger, o.healthy(), s.Horizon)
	s.endless = s.endless || o.Loops > 0
	for range o.Loops {
		s.schedule(duration(s.arrivals.Float64()*1e9), arrives, none, 0)
	}
	s.arrival()
	return s
}

// random returns independent sources for the arrivals, the policies and the random failures.
func (o *Overload) random() (arrivals, policies, failing *rand.Rand) {
	second := mix(mix(o.Seed + golden))
	return newRand(o.Seed), newRand(second), newRand(mix(second))
}

func (s *overload) schedule(at time.Duration, kind, who int32, version uint32) {
	s.scheduled++
	s.events.push(due{at, s.scheduled, kind, who, version})
}

// arrival schedules the next arrival.
func (s *overload) arrival() {
	if s.Load > 0 {
		s.schedule(add(s.now, duration(s.arrivals.ExpFloat64()/s.Load*1e9)), arrives, none, 0)
		return
	}
	if s.arrived < len(s.Trace) {
		s.schedule(s.Trace[s.arrived], arrives, none, 0)
		s.arrived++
	}
}

// run computes the run and returns the cause if it was stopped before the horizon.
func (s *overload) run(p *pace) error {
	for len(s.events) > 0 && s.events[0].at < s.Horizon {
		if cause := p.step(); cause != nil {
			return cause
		}
		if s.endsEarly() {
			break
		}
		e := s.events.pop()
		if e.at > s.now {
			s.still = 0
			s.res.Flow.queue(s.now, e.at, s.queue.len())
			s.now = e.at
			p.done = s.now.Milliseconds()
		}
		s.happens(e)
		if s.still > stuck*(len(s.calls)+1) && (s.endless || s.still > mostStill) {
			return ErrStuck
		}
	}
	s.res.Flow.queue(s.now, s.Horizon, s.queue.len())
	s.now = s.Horizon
	return nil
}

// endsEarly judges the server's health and reports whether the run ends before its next event. If so, it sets the
// Horizon.
func (s *overload) endsEarly() bool {
	at := s.events[0].at
	if at < s.health.due() {
		return false
	}
	s.health.judge(at)
	end, ok := s.health.earlyEnd()
	if !s.runsOn || !ok {
		return false
	}
	s.Horizon = min(end, s.Horizon)
	return true
}

// happens runs an event, unless it is void.
func (s *overload) happens(e due) {
	switch {
	case e.kind == arrives:
		s.res.Operations++
		s.res.Flow.bump(s.res.Flow.Arrived, s.now)
		s.health.arrived(s.now)
		s.start(s.begin(0, none))
		s.arrival()
	case e.kind == finishes:
		s.finished()
	case s.calls[e.who].version != e.version: // void
	case e.kind == retries:
		s.start(e.who)
	case e.kind == expires:
		s.cancel(s.calls[e.who].below)
		s.failed(e.who, errFailed)
	case e.kind == refused:
		s.failed(e.who, errFailed)
	}
}

// begin adds a call of the layer at, as an attempt of the call above, and returns its index.
func (s *overload) begin(at, above int32) int32 {
	l := &s.layers[at]
	process := l.next
	if l.next++; l.next == len(l.policies) {
		l.next = 0
	}
	var who int32
	if n := len(s.free); n > 0 {
		who, s.free = s.free[n-1], s.free[:n-1]
	} else {
		who = int32(len(s.calls))
		s.calls = append(s.calls, call{})
	}
	s.calls[who] = call{operation: operation{policy: l.policies[process], takes: l.takes}, began: s.now, layer: at, above: above, below: none, version: s.calls[who].version}
	return who
}

// start starts a call's next attempt.
func (s *overload) start(who int32) {
	c := &s.calls[who]
	c.version++
	c.start = s.now
	if l := &s.layers[c.layer]; l.timed {
		s.schedule(add(s.now, l.timeout), expires, who, c.version)
	}
	if next := c.layer + 1; int(next) < len(s.layers) {
		below := s.begin(next, who) // may reallocate s.calls
		s.calls[who].below = below
		s.start(below)
		return
	}
	s.request(who)
}

// failed applies the policy of a call to the failure of its attempt.
func (s *overload) failed(who int32, err error) {
	c := &s.calls[who]
	c.version++
	c.below = none
	wait, final := c.fail(err, s.now-c.start, s.now)
	if final == nil {
		s.schedule(add(s.now, wait), retries, who, c.version)
		return
	}
	if e, ok := final.(*retry.Error); ok && e.Cause == retry.ErrBudget { // not a lower layer's, which would be in e.Last
		s.res.OutOfBudget++
	}
	above, _ := s.release(who)
	if above == none {
		s.res.GivenUp++
		s.again()
		return
	}
	s.failed(above, final)
}

// succeeded ends a call and the calls above it.
func (s *overload) succeeded(who int32) {
	for {
		c := &s.calls[who]
		succeed(c.policy)
		above, began := s.release(who)
		if above != none {
			who = above
			continue
		}
		s.res.Succeeded++
		s.latency.add(int64(s.now - began))
		s.res.Flow.bump(s.res.Flow.Succeeded, s.now)
		s.answered(c)
		s.again()
		return
	}
}

// again starts a loop's next operation.
func (s *overload) again() {
	if s.Loops > 0 {
		s.schedule(s.now, arrives, none, 0)
	}
}

// answered counts an operation as healthy, once, if the server has answered it in time.
func (s *overload) answered(c *call) {
	if s.now-c.began <= s.healthy() && !c.well {
		c.well = true
		s.res.Flow.bump(s.res.Flow.Healthy, c.began)
		s.health.healthy(c.began)
	}
}

// release frees a call.
func (s *overload) release(who int32) (above int32, began time.Duration) {
	c := &s.calls[who]
	c.version++
	s.free = append(s.free, who)
	return c.above, c.began
}

// cancel ends a call whose caller has left, and the calls below it.
func (s *overload) cancel(who int32) {
	for who != none {
		below := s.calls[who].below
		s.release(who)
		who = below
	}
}
