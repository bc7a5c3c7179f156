package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/internal/heap"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// maxOperations is the most operations that one Overload may be expected to have.
const maxOperations = 1 << 30

// Overload is a server with a queue, users who come whether it is well or not, and callers who retry. Something happens
// to the server, the Trigger: does it recover, or do the retries keep it down (a metastable failure: Bronson and others,
// "Metastable Failures in Distributed Systems", HotOS 2021; Huang and others, OSDI 2022)?
//
// Operations come at random times, Load of them a second on average (a Poisson process), or at those of the Trace. Each
// goes through the Layers: an attempt of the first is an operation of the second, and so on, and an attempt of the last
// is a request to the server. The server works at one request at a time, in the order they came, as long as its Service
// says. It does not know that a caller has left, because its AttemptTimeout is over: it works for it all the same, unless
// it is to Drop such requests. A request that finds the Queue full fails at once.
//
// When the attempt of one layer times out, the operations under it end. Failures of a lower layer are the attempts'
// errors of the one above it.
//
// With Slots a request that finds the Queue full is told when there will be room, one request each Service.Mean; others
// have to queue up behind it in the same way, until nobody is expected any more. Who comes back in its slot or later is
// let in, if the queue has room by then, else it is given another slot.
//
// For an overload with the same arrivals and work for several policies run it with the same Seed: the policies draw
// apart.
type Overload struct {
	Load    float64         `json:"load"`            // operations a second; 0 with a Trace
	Trace   []time.Duration `json:"trace,omitempty"` // when operations come, in order
	Layers  []Layer         `json:"layers"`          // the users' first; 1 to 10
	Service Service         `json:"service"`
	Queue   int             `json:"queue"` // how many requests may wait; 0 is no bound
	Drop    bool            `json:"drop"`  // the server drops, in no time, the requests whose callers have left when their turn comes
	Slots   bool            `json:"slots"` // a request that finds the Queue full is given the next free slot as its Retry-After
	Trigger Trigger         `json:"trigger"`

	// Healthy is within what time an operation has to succeed to be a healthy one; 0 is the first AttemptTimeout of the
	// Layers, or a second where there is none.
	Healthy time.Duration `json:"healthy"`

	Horizon time.Duration `json:"horizon"` // the end, more than 0
	Bin     time.Duration `json:"bin"`     // of the Flow; 0 is a second; at most 16,384 of them are to fit into Horizon
	Seed    uint64        `json:"seed"`

	// Progress, if not nil, is told now and then how much of the Horizon has passed, in ms; a short run never calls it.
	// Run calls it on its own goroutine.
	Progress func(done, total int64) `json:"-"`
}

const maxLayers = 10

// Run computes one run. The same Overload gives the same result.
//
// Its errors are a *FieldError, with no result, for an Overload that cannot be run, and a *StoppedError with the result
// so far when ctx ended, or when callers who are refused retry without any time going by (ErrStuck).
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := newPace(ctx, o.Progress, o.Horizon.Milliseconds())
	s := newOverload(o)
	if cause := s.run(&p); cause != nil {
		return s.result(), &StoppedError{"Overload", cause, s.now, p.done, p.total, "ms"}
	}
	p.done = p.total
	p.end()
	return s.result(), nil
}

func (o *Overload) check() error {
	c := checker{model: "Overload"}
	c.number("Load", o.Load, 0, 1e9)
	if (o.Load == 0) == (o.Trace == nil) {
		c.fail("Load", o.Load, "more than 0, or a Trace instead of it")
	}
	for i, at := range o.Trace {
		if at < 0 || i > 0 && at < o.Trace[i-1] {
			c.fail(fmt.Sprintf("Trace[%d]", i), at, "at least 0, and no earlier than the one before it")
		}
	}
	c.count("len(Layers)", len(o.Layers), 1, maxLayers)
	for i, l := range o.Layers {
		c.layer(fmt.Sprintf("Layers[%d]", i), l)
	}
	c.service(o.Service)
	c.count("Queue", o.Queue, 0, maxClients)
	if o.Slots && o.Queue == 0 {
		c.fail("Queue", o.Queue, "more than 0 with Slots: a queue without bound refuses nobody")
	}
	c.trigger(o.Trigger)
	c.notNegative("Healthy", o.Healthy)
	c.duration("Horizon", o.Horizon, 1, never-1)
	c.notNegative("Bin", o.Bin)
	if c.err == nil && o.Horizon/o.bin() >= maxTraffic {
		c.fail("Bin", o.bin(), fmt.Sprintf("at least %v: at most %d bins in a Horizon of %v", o.Horizon/maxTraffic+1, maxTraffic, o.Horizon))
	}
	if c.err == nil && o.Load*o.Horizon.Seconds() > maxOperations {
		c.fail("Load·Horizon", o.Load*o.Horizon.Seconds(), fmt.Sprintf("at most %d operations", maxOperations))
	}
	return c.err
}

func (o *Overload) bin() time.Duration {
	if o.Bin == 0 {
		return time.Second
	}
	return o.Bin
}

// healthy is within what time an operation has to succeed.
func (o *Overload) healthy() time.Duration {
	if o.Healthy > 0 {
		return o.Healthy
	}
	for _, l := range o.Layers {
		if d, ok := l.Policy.AttemptTimeout(); ok {
			return d
		}
	}
	return time.Second
}

// What an event of an Overload is.
const (
	arrives  int32 = iota // an operation
	finishes              // the server has done a request
	expires               // an attempt's timeout is over
	retries               // a wait is over
)

// due is an event of an Overload. It is void if its call has gone on since: if its turn is another one.
type due struct {
	at    time.Duration
	order int64 // events of one instant come in the order they were scheduled in
	kind  int32
	who   int32
	turn  uint32
}

// Before orders a heap.
func (e due) Before(f due) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.order < f.order
}

// call is an operation of one layer that is on its way.
type call struct {
	state   retry.State
	began   time.Duration
	slot    time.Duration // at which the server expects its next request; Never
	layer   int32
	process int32
	above   int32 // the call that it is an attempt of; none
	below   int32 // the call that its attempt is; none
	turn    uint32
}

const none int32 = -1

// request is one to the server. Its caller has left if it has gone on since.
type request struct {
	who  int32
	turn uint32
	at   time.Duration
}

// layer is a Layer that runs.
type layer struct {
	policies []retry.Policy
	next     int // the process of the next operation
	timeout  time.Duration
	timed    bool
}

// overload is an Overload that runs.
type overload struct {
	Overload
	arrivals, work *rand.Rand
	layers         []layer
	calls          []call
	free           []int32 // of calls
	events         heap.Heap[due]
	scheduled      int64
	arrived        int // of the Trace
	now            time.Duration
	still          int  // attempts since time moved
	endless        bool // nothing but time ends the retries of a layer
	queue          fifo
	busy           bool
	at             request // what the server works at
	nextSlot       time.Duration
	wait, latency  moments
	res            OverloadResult
}

func newOverload(o Overload) *overload {
	s := &overload{Overload: o}
	var policies *rand.Rand
	s.arrivals, s.work, policies = o.random()
	for _, l := range o.Layers {
		timeout, timed := l.Policy.AttemptTimeout()
		s.layers = append(s.layers, layer{policies: l.policies(policies), timeout: timeout, timed: timed})
		s.endless = s.endless || !l.ends()
	}
	s.res.Flow = newFlow(o.bin(), o.Horizon)
	s.arrival()
	return s
}

// random returns the sources of the arrivals, of the work, and of the policies, which have nothing in common.
func (o *Overload) random() (arrivals, work, policies *rand.Rand) {
	return newRand(o.Seed), newRand(mix(o.Seed + golden)), newRand(mix(mix(o.Seed + golden)))
}

func (s *overload) schedule(at time.Duration, kind, who int32, turn uint32) {
	s.scheduled++
	s.events.Push(due{at, s.scheduled, kind, who, turn})
}

// arrival schedules the next one.
func (s *overload) arrival() {
	if s.Trace == nil {
		s.schedule(add(s.now, duration(s.arrivals.ExpFloat64()/s.Load*1e9)), arrives, none, 0)
		return
	}
	if s.arrived < len(s.Trace) {
		s.schedule(s.Trace[s.arrived], arrives, none, 0)
		s.arrived++
	}
}

// run returns what stopped it, if something did before the horizon.
func (s *overload) run(p *pace) error {
	for len(s.events) > 0 && s.events[0].at < s.Horizon {
		if cause := p.step(); cause != nil {
			return cause
		}
		e := s.events.Pop()
		if e.at > s.now {
			s.still = 0
			s.res.Flow.queue(s.now, e.at, s.queue.len())
			s.now = e.at
			p.done = s.now.Milliseconds()
		}
		switch e.kind {
		case arrives:
			s.res.Operations++
			s.res.Flow.bump(s.res.Flow.Arrived, s.now)
			s.start(s.begin(0, none))
			s.arrival()
		case finishes:
			s.finished()
		case retries:
			if s.calls[e.who].turn == e.turn {
				s.start(e.who)
			}
		case expires:
			if c := &s.calls[e.who]; c.turn == e.turn {
				s.cancel(c.below)
				s.failed(e.who, failure)
			}
		}
		if s.endless && s.still > stuck*(len(s.calls)+1) {
			return ErrStuck
		}
	}
	s.res.Flow.queue(s.now, s.Horizon, s.queue.len())
	s.now = s.Horizon
	return nil
}

// begin returns a new call of a layer.
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
	s.calls[who] = call{began: s.now, slot: Never, layer: at, process: int32(process), above: above, below: none, turn: s.calls[who].turn}
	return who
}

// start makes a call's next attempt.
func (s *overload) start(who int32) {
	c := &s.calls[who]
	c.turn++
	if l := &s.layers[c.layer]; l.timed {
		s.schedule(add(s.now, l.timeout), expires, who, c.turn)
	}
	if next := c.layer + 1; int(next) < len(s.layers) {
		below := s.begin(next, who) // may move the calls
		s.calls[who].below = below
		s.start(below)
		return
	}
	s.request(who)
}

// failed has the policy of a call decide about the failure of its attempt.
func (s *overload) failed(who int32, err stream.Failure) {
	c := &s.calls[who]
	c.turn++
	c.below = none
	policy := s.layers[c.layer].policies[c.process]
	wait, end := policy.Decide(&c.state, err, time.Time{}.Add(s.now), time.Time{})
	if end == nil {
		s.schedule(add(s.now, wait), retries, who, c.turn)
		return
	}
	if e, ok := end.(*retry.Error); ok && e.Cause == retry.ErrBudget { // not that of a lower layer, which is in its Last
		s.res.OutOfBudget++
	}
	above, _ := s.end(who)
	if above == none {
		s.res.GivenUp++
		return
	}
	s.failed(above, stream.Failure{Err: end})
}

// succeeded ends a call, and those above it.
func (s *overload) succeeded(who int32) {
	for {
		c := &s.calls[who]
		s.layers[c.layer].policies[c.process].Succeeded(0)
		above, began := s.end(who)
		if above != none {
			who = above
			continue
		}
		s.res.Succeeded++
		s.latency.add(int64(s.now - began))
		s.res.Flow.bump(s.res.Flow.Succeeded, s.now)
		if s.now-began <= s.healthy() {
			s.res.Flow.bump(s.res.Flow.Healthy, began)
		}
		return
	}
}

// end frees a call.
func (s *overload) end(who int32) (above int32, began time.Duration) {
	c := &s.calls[who]
	c.turn++
	s.free = append(s.free, who)
	return c.above, c.began
}

// cancel ends a call, and those below it, whose caller has left.
func (s *overload) cancel(who int32) {
	for who != none {
		below := s.calls[who].below
		s.end(who)
		who = below
	}
}

// request sends a request of a call to the server.
func (s *overload) request(who int32) {
	s.still++
	s.res.Offered++
	s.res.Flow.bump(s.res.Flow.Offered, s.now)
	c := &s.calls[who]
	r := request{who, c.turn, s.now}
	switch {
	case !s.busy:
		c.slot = Never
		s.serve(r)
	case s.Queue == 0 || s.queue.len() < s.Queue && s.admitted(c):
		c.slot = Never
		s.queue.push(r)
	default:
		s.res.Refused++
		s.res.Flow.bump(s.res.Flow.Refused, s.now)
		s.failed(who, s.refusal(c))
	}
}

// admitted reports whether the call's request has a slot, for none comes before it, or nobody is ahead of it.
func (s *overload) admitted(c *call) bool {
	return !s.Slots || s.nextSlot <= s.now || c.slot != Never
}

// refusal is the failure of a request that is refused.
func (s *overload) refusal(c *call) stream.Failure {
	if !s.Slots {
		return failure
	}
	s.nextSlot = add(max(s.nextSlot, s.now), s.Service.Mean)
	c.slot = s.nextSlot
	return stream.Failure{Err: retry.RetryAfter(failure.Err, c.slot-s.now)}
}

// serve has the server, which is free, work at a request.
func (s *overload) serve(r request) {
	s.busy, s.at = true, r
	s.wait.add(int64(s.now - r.at))
	s.schedule(s.Trigger.finish(s.now, s.Service.draw(s.work)), finishes, none, 0)
}

// finished has the server take the next request.
func (s *overload) finished() {
	done := s.at
	s.busy = false
	for s.queue.len() > 0 && !s.busy {
		r := s.queue.pop()
		if s.Drop && s.left(r) {
			s.res.Dropped++
			continue
		}
		s.serve(r)
	}
	if s.left(done) {
		s.res.Wasted++
		s.res.Flow.bump(s.res.Flow.Wasted, s.now)
		return
	}
	s.res.Served++
	s.succeeded(done.who)
}

// left reports whether a request's caller has left.
func (s *overload) left(r request) bool { return s.calls[r.who].turn != r.turn }

// fifo is a queue of requests.
type fifo struct {
	all  []request
	head int
}

func (q *fifo) len() int { return len(q.all) - q.head }

func (q *fifo) push(r request) {
	if q.head > 1024 && 2*q.head > len(q.all) {
		n := copy(q.all, q.all[q.head:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, r)
}

func (q *fifo) pop() request {
	r := q.all[q.head]
	q.head++
	return r
}
