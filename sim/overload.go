package sim

import (
	"context"
	"fmt"
	"time"
)

// maxOperations is the most operations that one Overload may be expected to have.
const maxOperations = 1 << 30

// Overload is a server with a queue, users who come whether it is well or not, and callers who retry. Something happens
// to the server, the Trigger: does it recover, or do the retries keep it down (a metastable failure: Bronson and
// others, "Metastable Failures in Distributed Systems", HotOS 2021; Huang and others, OSDI 2022)?
//
// Operations come at random times, Load of them a second on average (a Poisson process), or at those of the Trace. Each
// goes through the Layers: an attempt of the first is an operation of the second, and so on, and an attempt of the last
// is a request to the server. The server works at one request at a time, in the order they came, as long as its Service
// says. It does not know that a caller has left, because its AttemptTimeout is over: it works for it all the same,
// unless it is to Drop such requests. A request that finds the Queue full fails at once.
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
