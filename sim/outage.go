package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/heap"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Outage is a server that is down, and the Clients that want to be served by it, once each. From time 0 until Down it
// serves nobody; from Down on it serves at most Capacity of them within any second, and takes no time for it. An
// attempt that it does not serve fails, at once or after Timeout. Then the client waits for the Policy's delay and
// tries again, unless the Policy or the Budget makes it give up.
//
// With Slots the server is that of retryhttp.Slots with a burst of one. A client that it cannot serve is told at once
// when there will be room, one client each 1/Capacity of a second, and is served when it comes back then or later. A
// slot whose client gives up stays empty.
//
// An operation in the sense of Placement is one client's row of attempts, from the first to the one that is served or
// given up.
type Outage struct {
	Policy    retry.Policy  `json:"policy"`
	Placement Placement     `json:"placement"`
	Processes int           `json:"processes"` // under OneProcess, the processes that the clients are divided among; 0 is one, 10,000 the most
	Clients   int           `json:"clients"`   // 1 to 10,000,000
	Down      time.Duration `json:"down"`      // how long the server is down
	Capacity  int           `json:"capacity"`  // at least 1
	Timeout   time.Duration `json:"timeout"`   // how long an attempt lasts that fails; 0 fails at once
	Arrive    time.Duration `json:"arrive"`    // first attempts come at random between 0 and this; 0 has all come at 0
	Return    time.Duration `json:"return"`    // a client that gave up comes back after this time on average (exponentially distributed) with a new operation; 0 never does
	Budget    *Budget       `json:"budget"`    // what all clients' retries share; nil is none
	Slots     bool          `json:"slots"`     // once it is back the server gives a refused client the next free slot as Retry-After, see above
	Each      bool          `json:"each"`      // keep what became of each client: AttemptsOf and ServedAt
	Bin       time.Duration `json:"bin"`       // for loads and peaks; 0 is a second
	Seed      uint64        `json:"seed"`

	// Horizon is the last instant at which an attempt counts; 0 is none.
	Horizon time.Duration `json:"horizon"`

	// Progress, if not nil, is told now and then how many clients are served or gone, of how many; a short run never
	// calls it. Run calls it on its own goroutine.
	Progress func(done, total int64) `json:"-"`
}

// Run computes one run. The same Outage gives the same result.
//
// Its errors are a *FieldError, with no result, for an Outage that cannot be run, and a *StoppedError with the result
// so far when ctx ended, when there is more after the Horizon, or when the clients do not let any time go by
// (ErrStuck): a backoff that never waits, no Timeout, no limit and no Budget.
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
	p.end()
	return s.result(), nil
}

func (o *Outage) check() error {
	c := checker{model: "Outage"}
	c.count("Processes", o.Processes, 0, maxProcesses)
	c.count("Clients", o.Clients, 1, maxClients)
	c.notNegative("Down", o.Down)
	c.count("Capacity", o.Capacity, 1, maxRetries)
	c.notNegative("Timeout", o.Timeout)
	c.notNegative("Arrive", o.Arrive)
	c.notNegative("Return", o.Return)
	c.notNegative("Bin", o.Bin)
	c.placement("Placement", o.Placement)
	c.notNegative("Horizon", o.Horizon)
	if o.Budget != nil {
		o.Budget.check(&c)
	}
	return c.err
}

// What an event of an Outage is.
const (
	attempts int32 = iota // a client's attempt reaches the server
	fails                 // a client learns that its attempt has failed
)

// stuck is how many attempts per client there may be at one instant.
const stuck = 100

// server is an Outage that runs.
type server struct {
	Outage
	rng     *rand.Rand
	all     operations
	clients []client
	queue   heap.Heap[event]
	events  int64           // scheduled so far: those of one instant come in the order they were scheduled in
	now     time.Duration   // the time of the event at hand
	still   int             // attempts since time moved
	ends    bool            // the retries of one instant do
	ring    []time.Duration // when the last Capacity clients were served, oldest at next
	next    int
	free    time.Duration // the next slot
	waited  moments
	res     OutageResult
	peak    peak
	after   peak
	traffic Traffic
}

// client is one of an Outage's.
type client struct {
	operation               // the one at hand
	attempts  int32         // of all operations, at most the largest int32
	slot      time.Duration // at which the server expects it; 0 is none
}

// more is n+1, at most the largest int32.
func more(n int32) int32 { return max(n, n+1) }

func newServer(o Outage) *server {
	s := &server{Outage: o, rng: newRand(o.Seed), clients: make([]client, o.Clients)}
	s.all = newOperations(Layer{Policy: o.Policy, Budget: o.Budget}.policy(), o.Placement, s.rng)
	if o.Processes > 1 {
		s.all.divide(o.Processes, s.rng)
	}
	s.ends = Layer{Policy: o.Policy, Budget: o.Budget}.ends()
	if o.Each {
		s.res.ServedAt = slices.Repeat([]time.Duration{Never}, o.Clients)
	}
	s.peak.bin, s.after.bin, s.traffic.Bin = o.Bin, o.Bin, o.Bin
	if o.Capacity < o.Clients { // otherwise there is always room
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
		s.queue.Push(s.event(at, int32(i), attempts))
	}
	return s
}

func (s *server) event(at time.Duration, who, kind int32) event {
	s.events++
	return event{at, s.events, who, kind}
}

// run returns what stopped it, if something did.
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
		if e.kind == attempts && s.attempt(e.who) || e.kind == fails && s.failed(e.who, failure) {
			s.queue.Pop()
			p.done++
		}
		if s.still > stuck*len(s.clients) && !s.ends {
			return ErrStuck
		}
	}
	return nil
}

// attempt has a client ask to be served, and reports whether that was the last of it. If not, it puts the client's next
// event in the place of this one.
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
		s.all.policy.Succeeded(0)
		return true
	}
	if up {
		s.res.FailuresAfter++
	}
	if s.Timeout > 0 && refusal == failure {
		s.queue.Replace(s.event(add(s.now, s.Timeout), who, fails))
		return false
	}
	return s.failed(who, refusal)
}

// serve reports whether the server serves the client, now, or returns the failure of its attempt.
func (s *server) serve(c *client) (served bool, refusal stream.Failure) {
	switch {
	case s.now < s.Down:
		return false, failure
	case !s.Slots:
		return s.room(), failure
	case c.slot > 0: // it has come, for a policy never comes before what is dictated
		return true, failure
	case s.free <= s.now:
		s.free = add(s.now, s.interval())
		return true, failure
	}
	c.slot = s.free
	s.free = add(c.slot, s.interval())
	return false, stream.Failure{Err: retry.RetryAfter(failure.Err, c.slot-s.now)}
}

// interval is the time between two slots.
func (s *server) interval() time.Duration { return time.Second / time.Duration(s.Capacity) }

// room reports whether the server serves one more, now.
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

// failed has a client whose attempt has failed so retry, or give up; it reports and does what attempt does.
func (s *server) failed(who int32, f stream.Failure) bool {
	c := &s.clients[who]
	if c.state.Attempts == 0 {
		c.policy = s.all.of(int(who))
	}
	wait, err := c.policy.Decide(&c.state, f, time.Time{}.Add(s.now), time.Time{})
	if err != nil {
		if errors.Is(err, retry.ErrBudget) {
			s.res.Refused++
		}
		return s.giveUp(who)
	}
	s.queue.Replace(s.event(add(s.now, wait), who, attempts))
	return false
}

func (s *server) giveUp(who int32) bool {
	s.res.GivenUp++
	if s.Return == 0 {
		return true
	}
	s.clients[who].operation, s.clients[who].slot = operation{}, 0
	after := duration(float64(s.Return) * s.rng.ExpFloat64())
	s.queue.Replace(s.event(add(s.now, after), who, attempts))
	return false
}
