package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

const (
	// maxClients is the most clients of an OCC or an Outage.
	maxClients = 10_000_000

	// maxCalls is the most calls whose times an OCCResult keeps, 8 bytes each.
	maxCalls = 10_000_000
)

// Network is the distribution of the time that a message takes: the absolute value of a normally distributed duration,
// drawn for each message. With the zero Network messages take no time.
type Network struct {
	Mean time.Duration `json:"mean"` // 0 to an hour
	SD   time.Duration `json:"sd"`   // 0 to an hour
}

// DefaultNetwork is the network of "Exponential Backoff And Jitter": |normal(10, 2)| ms.
var DefaultNetwork = Network{10 * time.Millisecond, 2 * time.Millisecond}

func (c *checker) network(n Network) {
	c.duration("Network.Mean", n.Mean, 0, time.Hour)
	c.duration("Network.SD", n.SD, 0, time.Hour)
}

// draw returns the time of one message.
func (n Network) draw(rng *rand.Rand) time.Duration {
	if n.SD == 0 {
		return n.Mean
	}
	x := float64(n.Mean) + float64(float64(n.SD)*rng.NormFloat64())
	return time.Duration(math.Abs(x) + 0.5)
}

// OCC is optimistic concurrency control under contention: each of the Clients wants to write the same row once. All
// start at time 0. A client sends a read request, receives the reply, sends a write request and receives the reply:
// four messages, 40 ms on average with DefaultNetwork. The server takes no time. A write succeeds if there was no other
// write since the client's read; a write at the same instant as the read counts as before it. A client whose write
// failed waits for the Policy's delay and reads again, unless the Policy gives up.
//
// Each client is one operation for its Placement. With Tiled its place is drawn at its first failure and kept.
type OCC struct {
	Policy    retry.Policy `json:"policy"`
	Placement Placement    `json:"placement,omitempty"`
	Processes int          `json:"processes"` // that the clients are divided among; 0 is one, at most 10,000
	Clients   int          `json:"clients"`   // 1 to 10,000,000
	Network   Network      `json:"network"`
	Seed      uint64       `json:"seed"`

	// Horizon is the last instant at which a write counts; 0 is none.
	Horizon time.Duration `json:"horizon"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the number of clients that are done and
	// the total. A short run never calls it.
	Progress func(done, total int64) `json:"-"`
}

// OCCResult is the result of an OCC.
type OCCResult struct {
	Clients int             `json:"clients"`
	Written int             `json:"written"` // clients whose write succeeded: all, unless the run was stopped or their policy gave up
	Calls   int64           `json:"calls"`   // write calls, failed ones too: the work of the server
	End     time.Duration   `json:"end"`     // when the last reply to a write arrived
	Times   []time.Duration `json:"times"`   // when each write call reached the server, in order: the first 10,000,000 of them
}

// Run computes one run. The same OCC gives the same result.
//
// It returns a *FieldError and no result for an OCC that cannot be run, and a *StoppedError with the result so far when
// ctx ends or when there are writes after the Horizon.
func (o OCC) Run(ctx context.Context) (*OCCResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := newPace(ctx, o.Progress, int64(o.Clients))
	r := newRow(o)
	res := &OCCResult{Clients: o.Clients}
	if cause := r.run(o.Seed, &p, res, true); cause != nil {
		return res, &StoppedError{"OCC", cause, r.now, int64(res.Written), int64(o.Clients), "clients"}
	}
	p.complete()
	return res, nil
}

func (o *OCC) check() error {
	c := checker{model: "OCC"}
	c.count("Clients", o.Clients, 1, maxClients)
	c.network(o.Network)
	c.placed("", o.Placement, o.Processes)
	c.notNegative("Horizon", o.Horizon)
	return c.err
}

// row is the contended row and its clients. There is one event per attempt. It carries the arrivals of the attempt's
// read and of its write, and the write succeeds if no other has succeeded since the read.
type row struct {
	OCC
	last    time.Duration // the horizon
	now     time.Duration
	clients []writer
	queue   heap[event]
}

func newRow(o OCC) *row {
	return &row{OCC: o, last: horizon(o.Horizon)}
}

// writer is a client and the start of its current attempt.
type writer struct {
	operation
	start time.Duration
}

// run computes one run into res and returns the cause if it was stopped. A single run keeps the times of its calls. p
// counts the clients that are done.
func (r *row) run(seed uint64, p *pace, res *OCCResult, single bool) error {
	rng := newRand(seed)
	all := newOperations(r.Policy, r.Placement, r.Processes, rng)
	r.clients = append(r.clients[:0], make([]writer, r.Clients)...)
	r.queue = r.queue[:0]
	for i := range r.clients {
		r.queue.push(r.attempt(rng, int32(i), 0))
	}
	written := time.Duration(-1) // the last successful write
	for len(r.queue) > 0 {
		if cause := p.step(); cause != nil {
			return cause
		}
		e := r.queue[0]
		if e.at > r.last {
			r.now = r.last
			return ErrHorizon
		}
		r.now = e.at
		res.Calls++
		if single && len(res.Times) < maxCalls {
			res.Times = append(res.Times, e.at)
		}
		reply := add(e.at, r.Network.draw(rng))
		res.End = max(res.End, reply)
		c := &r.clients[e.who]
		if written <= time.Duration(e.mark) {
			written = e.at
			res.Written++
			p.done++
			all.succeeded(&c.operation, int(e.who))
			r.queue.pop()
			continue
		}
		all.begin(&c.operation, int(e.who))
		wait, err := c.fail(errFailed, reply-c.start, reply)
		if err != nil {
			r.queue.pop()
			p.done++
			continue
		}
		r.queue.replace(r.attempt(rng, e.who, add(reply, wait)))
	}
	return nil
}

// attempt returns the write call of an attempt whose read request is sent at start. Its mark is the time of the read.
func (r *row) attempt(rng *rand.Rand, who int32, start time.Duration) event {
	r.clients[who].start = start
	read := add(start, r.Network.draw(rng))
	write := add(read, r.Network.draw(rng)+r.Network.draw(rng))
	return event{at: write, mark: int64(read), who: who}
}
