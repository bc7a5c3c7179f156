package sim

import (
	"context"
	"fmt"
	"time"
)

// maxOperations is the maximum of Load·Horizon.
const maxOperations = 1 << 30

// Overload is a server with a queue, users whose operations come at the same rate whatever the server's state, and
// callers that retry. The Trigger stops the server for a time. Does the server recover, or do the retries keep
// it down? The latter is a metastable failure (Bronson and others, "Metastable Failures in Distributed Systems", HotOS
// 2021; Huang and others, OSDI 2022).
//
// Operations come at random times, Load a second on average (a Poisson process), or at the times of the Trace. Each
// goes through the Layers: an attempt of the first layer is an operation of the second, and so on. An attempt of the
// last layer is a request to the server. The server works on one request at a time, in the order of arrival, for the
// time of the Service. It does not know when a caller has left because the AttemptTimeout is over. It works on such
// requests too, unless Drop is set. A request that finds the Queue full fails at once.
//
// When the attempt of one layer times out, the operations under it end. A failure of a lower layer is the error of the
// attempt above it.
//
// With Loops there are as many callers instead of a Load, each of which starts its next operation when its last one has
// ended. They begin at random times in the first second.
//
// The policies' draws are independent of the arrivals: two Overloads with the same Seed and different policies have the
// same arrivals.
type Overload struct {
	Load    float64         `json:"load"`            // operations a second; 0 with a Trace or Loops
	Trace   []time.Duration `json:"trace,omitempty"` // when operations come, in order
	Loops   int             `json:"loops,omitempty"` // callers, each with one operation at a time
	Layers  []Layer         `json:"layers"`          // from the users to the server; 1 to 10
	Service Service         `json:"service"`
	Queue   int             `json:"queue"` // how many requests may wait; 0 is no bound
	Drop    bool            `json:"drop"`  // requests whose callers have left are dropped when their turn comes, which takes no time
	Trigger Trigger         `json:"trigger"`

	// Failures is the share of the requests, 0 to 1, that fail at random after the server has worked on them. An operation
	// is healthy if such a failure comes in time, as it is if it succeeds in time.
	Failures float64 `json:"failures"`

	// Refusal is how long it takes until a caller knows that the Queue is full; 0 is no time.
	Refusal time.Duration `json:"refusal,omitempty"`

	// Healthy is the time within which a healthy operation is answered; 0 is the first AttemptTimeout of the Layers, or a
	// second if there is none.
	Healthy time.Duration `json:"healthy"`

	// Horizon is the end of the run. With 0 the run ends when the server has been healthy for 30 s after the Trigger,
	// at the latest 5 minutes after it. If the server was not healthy before the Trigger, it ends 30 s after it.
	Horizon time.Duration `json:"horizon"`

	Bin  time.Duration `json:"bin"` // of the Flow; 0 is a second, or as much more as a long run needs; a run may have at most 16,384 bins
	Seed uint64        `json:"seed"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the part of the Horizon that has passed
	// and the Horizon, both in ms. A short run never calls it.
	Progress func(done, total int64) `json:"-"`
}

const maxLayers = 10

// Run computes one run. The same Overload gives the same result.
//
// It returns a *FieldError and no result for an Overload that cannot be run. It returns a *StoppedError with the result
// so far when ctx ends, or when refused callers retry endlessly at one instant (ErrStuck).
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := newOverload(o)
	p := newPace(ctx, o.Progress, s.Horizon.Milliseconds())
	if cause := s.run(&p); cause != nil {
		return s.result(), &StoppedError{"Overload", cause, s.now, p.done, p.total, "ms"}
	}
	p.done = p.total
	p.complete()
	return s.result(), nil
}

func (o *Overload) check() error {
	c := checker{model: "Overload"}
	sources := 0
	for _, given := range []bool{o.Load != 0, o.Trace != nil, o.Loops > 0} {
		if given {
			sources++
		}
	}
	if !(o.Load >= 0) || sources != 1 {
		c.fail("Load", o.Load, "more than 0, or a Trace or Loops instead of it")
	}
	c.number("Load", o.Load, 0, 1e9)
	for i, at := range o.Trace {
		if at < 0 || i > 0 && at < o.Trace[i-1] {
			c.fail(fmt.Sprintf("Trace[%d]", i), at, "at least 0, and no earlier than the one before it")
		}
	}
	c.count("len(Layers)", len(o.Layers), 1, maxLayers)
	for i, l := range o.Layers {
		c.count(fmt.Sprintf("Layers[%d].Processes", i), l.Processes, 0, maxProcesses)
		c.number(fmt.Sprintf("Layers[%d].FailureTakes", i), l.FailureTakes, 0, maxTokens)
	}
	c.duration("Service.Mean", o.Service.Mean, 1, never)
	c.count("Queue", o.Queue, 0, maxClients)
	c.count("Loops", o.Loops, 0, maxClients)
	c.notNegative("Refusal", o.Refusal)
	c.trigger(o.Trigger)
	c.notNegative("Healthy", o.Healthy)
	c.number("Failures", o.Failures, 0, 1)
	c.duration("Horizon", o.Horizon, 0, never-1)
	c.notNegative("Bin", o.Bin)
	end := o.latest()
	if c.err == nil && end/o.bin() >= maxTraffic {
		c.fail("Bin", o.bin(), fmt.Sprintf("at least %v: at most %d bins in a run of %v", end/maxTraffic+1, maxTraffic, end))
	}
	if c.err == nil && o.Load*end.Seconds() > maxOperations {
		c.fail("Load·Horizon", o.Load*end.Seconds(), fmt.Sprintf("at most %d operations", maxOperations))
	}
	return c.err
}

// latest returns the latest possible end.
func (o *Overload) latest() time.Duration {
	if o.Horizon > 0 {
		return o.Horizon
	}
	return min(add(o.Trigger.end(), watch), never-1)
}

func (o *Overload) bin() time.Duration {
	if o.Bin == 0 {
		return max(time.Second, o.latest()/maxTraffic+1)
	}
	return o.Bin
}

// healthy returns the time within which a healthy operation is answered.
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
