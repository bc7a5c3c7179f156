package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Outage is a server that is down, and Clients that it must serve once each. From time 0 until Down it serves no
// client; from Down on it serves, without Slots, at most Capacity clients within any second. Serving takes no time. An
// attempt that it does not serve fails, at once or after Timeout, or after the Policy's AttemptTimeout if that is less.
// Then the client waits for the Policy's delay and tries again, unless the Policy ends its retries.
//
// The clients are divided among the Processes. If the Policy has a budget, each process has one with its settings and
// tokens.
//
// With Slots the server behaves like retryhttp.Slots with a burst of one and no last slot. A client that it cannot
// serve receives the next free slot as Retry-After, at once. There is one slot each 1/Capacity of a second. The server
// serves the client when it comes back in its slot or later. A slot whose client gives up stays empty.
//
// For the Placement an operation is one client's attempts, from the first until one is served or the client gives up.
type Outage struct {
	Policy       retry.Policy  `json:"policy"`
	Placement    Placement     `json:"placement,omitempty"`
	Processes    int           `json:"processes"`              // that the clients are divided among; 0 is one, at most 10,000 and at most Clients
	FailureTakes float64       `json:"failureTakes,omitempty"` // see Layer.FailureTakes
	Clients      int           `json:"clients"`                // 1 to 10,000,000
	Down         time.Duration `json:"down"`                   // how long the server is down
	Capacity     int           `json:"capacity"`               // at least 1
	Timeout      time.Duration `json:"timeout"`                // how long a failing attempt lasts; 0 fails at once
	Arrive       time.Duration `json:"arrive"`                 // first attempts come at random times between 0 and this; with 0 all come at 0
	Return       time.Duration `json:"return"`                 // the mean time (exponentially distributed) until a client that gave up starts a new operation; 0 is never
	Slots        bool          `json:"slots"`                  // once it is back the server assigns slots, see above
	Each         bool          `json:"each"`                   // keep the results of each client: AttemptsOf and ServedAt
	Bin          time.Duration `json:"bin"`                    // for loads and peaks; 0 is a second
	Seed         uint64        `json:"seed"`

	// Horizon is the last instant at which an attempt counts; 0 is none.
	Horizon time.Duration `json:"horizon"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the number of clients that are served or
	// gone and the total. A short run never calls it.
	Progress func(done, total int64) `json:"-"`
}

// Run computes one run. The same Outage gives the same result.
//
// It returns a *FieldError and no result for an Outage that cannot be run. It returns a *StoppedError with the result
// so far when ctx ends, when there are attempts after the Horizon, or when the clients retry endlessly at one instant
// (ErrStuck): with a backoff that never waits, no Timeout, no limit and no budget.
func (o Outage) Run(ctx context.Context) (*OutageResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Bin == 0 {
		o.Bin = time.Second
	}
	p := newPace(ctx, o.Progress, int64(o.Clients))
	s := newServer(o)
	if cause := s.run(&p); cause != nil {
		return s.result(), &StoppedError{"Outage", cause, s.now, p.done, p.total, "clients"}
	}
	p.complete()
	return s.result(), nil
}

func (o *Outage) check() error {
	c := checker{model: "Outage"}
	c.count("Clients", o.Clients, 1, maxClients)
	c.notNegative("Down", o.Down)
	c.count("Capacity", o.Capacity, 1, maxRetries)
	c.notNegative("Timeout", o.Timeout)
	c.notNegative("Arrive", o.Arrive)
	c.notNegative("Return", o.Return)
	c.notNegative("Bin", o.Bin)
	c.placed("", o.Placement, o.Processes)
	c.count("Processes", o.Processes, 0, max(o.Clients, 1))
	c.number("FailureTakes", o.FailureTakes, 0, maxTokens)
	c.notNegative("Horizon", o.Horizon)
	return c.err
}

// The kinds of events of an Outage.
const (
	attempts int32 = iota // a client's attempt reaches the server
	fails                 // a client learns that its attempt has failed
)

// stuck is the maximum number of attempts per client at one instant.
const stuck = 100

// mostStill is the maximum number of attempts at one instant, whatever a limit or a budget allows.
const mostStill = 100_000_000

// server is a running Outage.
type server struct {
	Outage
	rng     *rand.Rand
	all     operations
	clients []client
	queue   heap[event]
	events  int64           // scheduled so far: events of one instant run in the order in which they were scheduled
	now     time.Duration   // the time of the current event
	still   int             // attempts at the current instant
	ends    bool            // a limit or a budget ends the retries of one instant
	ring    []time.Duration // when the last Capacity clients were served, oldest at next
	next    int
	free    time.Duration // the next slot
	waited  moments
	left    moments
	res     OutageResult
	peak    peak
	after   peak
	traffic Traffic
}

// client is a client of an Outage.
type client struct {
	operation               // the current one
	attempts  int32         // of all operations, at most math.MaxInt32
	slot      time.Duration // from when on the server serves it; 0 is none
}

// more returns n+1, at most math.MaxInt32.
func more(n int32) int32 { return max(n, n+1) }

func newServer(o Outage) *server {
	s := &server{Outage: o, rng: newRand(o.Seed), clients: make([]client, o.Clients)}
	s.all = newOperations(o.Policy, o.Placement, o.Processes, s.rng)
	s.all.takes = o.FailureTakes
	s.ends = ends(o.Policy)
	if d, ok := o.Policy.AttemptTimeout(); ok {
		s.Timeout = min(s.Timeout, d)
	}
	if o.Each {
		s.res.ServedAt = slices.Repeat([]time.Duration{Never}, o.Clients)
	}
	s.peak.bin, s.after.bin, s.traffic.Bin = o.Bin, o.Bin, o.Bin
	if o.Capacity < o.Clients { // otherwise the server always has room
		s.ring = make([]time.Duration, o.Capacity)
		for i := range s.ring {
			s.ring[i] = Never
		}
	}
	for i := range s.clients {
		var at time.Duration
		if o.Arrive > 0 {
			at = time.Duration(s.rng.Int64N(int64(o.Arrive)))
		}
		s.queue.push(s.event(at, int32(i), attempts))
	}
	return s
}

func (s *server) event(at time.Duration, who, kind int32) event {
	s.events++
	return event{at, s.events, who, kind}
}

// run computes the run and returns the cause if it was stopped.
func (s *server) run(p *pace) error {
	last := horizon(s.Horizon)
	for len(s.queue) > 0 {
		if cause := p.step(); cause != nil {
			return cause
		}
		e := s.queue[0]
		if e.at > last {
			s.now = last
			return ErrHorizon
		}
		if e.at > s.now {
			s.still = 0
		}
		s.now = e.at
		if e.kind == attempts && s.attempt(e.who) || e.kind == fails && s.failed(e.who, errFailed, s.Timeout) {
			s.queue.pop()
			p.done++
		}
		if s.still > stuck*len(s.clients) && (!s.ends || s.still > mostStill) {
			return ErrStuck
		}
	}
	return nil
}

// attempt runs an attempt of a client and reports whether the client is done. If not, it replaces the current event by
// the client's next one.
func (s *server) attempt(who int32) bool {
	s.still++
	c := &s.clients[who]
	c.attempts = more(c.attempts)
	served, refusal := s.serve(c)
	s.res.Attempts++
	s.peak.add(s.now)
	s.traffic.add(s.now, served)
	up := s.now >= s.Down
	if up {
		s.after.add(s.now - s.Down)
	}
	if served {
		s.res.Served++
		s.res.End = s.now
		s.waited.add(int64(s.now))
		if s.Each {
			s.res.ServedAt[who] = s.now
		}
		s.all.succeeded(&c.operation, int(who))
		return true
	}
	if up {
		s.res.FailuresAfter++
	}
	if s.Timeout > 0 && refusal == errFailed {
		s.queue.replace(s.event(add(s.now, s.Timeout), who, fails))
		return false
	}
	return s.failed(who, refusal, 0)
}

// serve reports whether the server serves the client now. If not, it returns the failure of the attempt.
func (s *server) serve(c *client) (served bool, refusal error) {
	switch {
	case s.now < s.Down:
		return false, errFailed
	case !s.Slots:
		return s.room(), errFailed
	case c.slot > 0: // the slot has come, because a policy never waits less than a Retry-After
		return true, nil
	case s.free <= s.now:
		s.free = add(s.now, s.interval())
		return true, nil
	}
	c.slot = s.free
	s.free = add(c.slot, s.interval())
	return false, retry.RetryAfter(errFailed, c.slot-s.now)
}

// interval returns the time between two slots.
func (s *server) interval() time.Duration { return time.Second / time.Duration(s.Capacity) }

// room reports whether the server serves one more client now, and counts that client.
func (s *server) room() bool {
	if s.ring == nil {
		return true
	}
	if oldest := s.ring[s.next]; oldest != Never && s.now-oldest < time.Second {
		return false
	}
	s.ring[s.next] = s.now
	s.next++
	if s.next == len(s.ring) {
		s.next = 0
	}
	return true
}

// failed decides about a client whose attempt has failed after some time: it retries or gives up. The result is as
// attempt's.
func (s *server) failed(who int32, refusal error, lasted time.Duration) bool {
	c := &s.clients[who]
	s.all.begin(&c.operation, int(who))
	wait, err := c.fail(refusal, lasted, s.now)
	if err != nil {
		if errors.Is(err, retry.ErrBudget) {
			s.res.Refused++
		}
		return s.giveUp(who)
	}
	s.queue.replace(s.event(add(s.now, wait), who, attempts))
	return false
}

func (s *server) giveUp(who int32) bool {
	s.res.GivenUp++
	s.left.add(int64(s.now))
	if s.Return == 0 {
		return true
	}
	s.clients[who].state, s.clients[who].slot = retry.State{}, 0
	after := duration(float64(s.Return) * s.rng.ExpFloat64())
	s.queue.replace(s.event(add(s.now, after), who, attempts))
	return false
}
