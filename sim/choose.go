package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// Choose runs Outages of several lengths under several policies. It reports which policies meet the targets, what each
// costs, and which one it recommends for a job or a connection that must succeed in the end. The targets and the choice
// are for clients that all fail together at the beginning. Choice.Random has the price: the same for clients whose
// first attempts come at random times during the outage.
//
// A policy for a job serves all clients. It waits up to a second or more before the first retry, and in an outage of an
// hour no client makes more than MostAttempts.
type Choose struct {
	Clients   int             `json:"clients"`   // 1 to 10,000,000
	Processes int             `json:"processes"` // that the clients are divided among, in place of the Strategies' own; 0 is their own; at most Clients
	Capacity  int             `json:"capacity"`  // clients that the server serves a second, once it is back
	Outages   []time.Duration `json:"outages"`   // how long the server is down

	// Served is the target for the time from the server's return until all clients are served, in every run of every
	// outage; 0 is no target.
	Served time.Duration `json:"served"`

	// Wait is the target for the wait of an operation that fails once, alone: 99 % of the policy's first waits must not be
	// longer; 0 is no target.
	Wait time.Duration `json:"wait"`

	Strategies []Strategy `json:"strategies"`          // the choices; nil is Candidates
	Placement  Placement  `json:"placement,omitempty"` // of the Candidates
	Runs       int        `json:"runs"`                // for each outage and each way to come
	Seed       uint64     `json:"seed"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the work done in millionths.
	Progress func(done, total int64) `json:"-"`
}

// MostAttempts is the most attempts of a client in an outage of an hour under a policy that Choose recommends.
const MostAttempts = 400

// Choices is the result of a Choose.
type Choices struct {
	Choices []Choice `json:"choices"` // in the order of the strategies

	// Recommended is the index of the recommended strategy, -1 if none meets the targets. It is the one that meets them
	// with the shortest End. Among Ends that are at most a tenth longer the fewest refusals decide; if these differ by at
	// most 0.01 a client, the fewest attempts in an hour; if these differ by at most a tenth, the shortest first wait.
	Recommended int `json:"recommended"`
}

// Choice is the result of one strategy.
type Choice struct {
	Strategy
	Meets     bool           `json:"meets"`     // whether it is a policy for a job, and meets the targets
	Refusals  float64        `json:"refusals"`  // per client, on average, after the server's return, in all outages together
	Attempts  Counts         `json:"attempts"`  // of the clients, in an outage of an hour; each client's are counted up to MostAttempts+1
	FirstWait Spread         `json:"firstWait"` // the wait of an operation that fails once, alone
	End       time.Duration  `json:"after"`     // the time from the server's return until all clients are served: the longest median of all outages
	Random    ChoiceRandom   `json:"random"`    // Refusals and End of clients that come at random times
	Outages   []ChoiceOutage `json:"outages"`
}

// ChoiceRandom is the result of one strategy for clients whose first attempts come at random times during the outage.
type ChoiceRandom struct {
	Refusals float64       `json:"refusals"`
	End      time.Duration `json:"after"`
}

// ChoiceOutage is the result of one outage under a strategy.
type ChoiceOutage struct {
	Down     time.Duration `json:"down"`
	Best     time.Duration `json:"best"`     // when all could be served, after the server's return
	After    Spread        `json:"after"`    // when the last client of a run was served, after the server's return
	Served   int           `json:"served"`   // clients that were served: the median of the runs
	Left     time.Duration `json:"left"`     // when the median client that gave up did: the median of the runs; 0 if none did
	Unserved int64         `json:"unserved"` // clients that were never served, in all runs
	Attempts float64       `json:"attempts"` // per client: the median of the runs
	Refusals Estimate      `json:"refusals"` // attempts that failed although the server was back, because it was busy
	Peak     Estimate      `json:"peak"`     // the most attempts in a second, after the server's return
}

// least is the least wait of a wave: in an hour a client has at most MostAttempts.
const least = 9200 * time.Millisecond

// Candidates returns the policies that Choose compares by default, for a number of clients and a capacity, in the given
// placement. Three are the usual ones, with waits from a second to half a minute. Two are tiled constants of 1 and 1.3
// times Wave. Four retry within a second, and then in waves of 0.5, 0.75, 1 and 1.3 times Wave. The last one, for clients
// in many processes, is a constant of 0.4 times Wave, at least 20 s, with full jitter. Wave counts as at least 9.2 s here,
// no wave is shorter, and no cap is less than timeout, the attempt timeout of the calls. So there are fewer candidates
// for small fleets. Arguments below 1 panic, and a negative timeout.
func Candidates(clients, capacity int, timeout time.Duration, p Placement) []Strategy {
	if clients < 1 || capacity < 1 || timeout < 0 {
		panic(fmt.Sprintf("sim: Candidates: clients is %d, capacity %d and timeout %v, want at least 1, 1 and 0", clients, capacity, timeout))
	}
	longest := max(30*time.Second, timeout)
	usual := backoff.Exponential(time.Second, 2).Cap(longest)
	var all []Strategy
	add := func(name string, b backoff.Backoff) {
		if !slices.ContainsFunc(all, func(s Strategy) bool { return s.Name == name }) {
			all = append(all, Strategy{Name: name, Policy: retry.New(b), Placement: p})
		}
	}
	add("exponential, full", usual.Jitter(jitter.Full))
	add("exponential, equal", usual.Jitter(jitter.Equal))
	add("decorrelated", backoff.Decorrelated(time.Second).Cap(longest))
	wave := func(times float64) time.Duration {
		return max(rounded(times*float64(max(Wave(clients, capacity), least))), least, timeout)
	}
	for _, times := range []float64{1, 1.3} {
		add(fmt.Sprintf("constant %v, tiled", wave(times)), backoff.Constant(wave(times)).Tiled())
	}
	for _, times := range []float64{0.5, 0.75, 1, 1.3} {
		add(fmt.Sprintf("1s, then %v, tiled", wave(times)), backoff.Table(time.Second, wave(times)).Tiled())
	}
	short := max(wave(0.4), 20*time.Second)
	add(fmt.Sprintf("constant %v, full", short), backoff.Constant(short).Jitter(jitter.Full))
	return all
}

// Wave returns 1.1 times the time that a server with that capacity per second needs for all clients, rounded up to
// three digits. With this wait a tiled fleet of one process never exceeds a capacity of 20 or more; a smaller one may
// refuse a few clients.
func Wave(clients, capacity int) time.Duration {
	return rounded(1.1 * float64(clients) / float64(max(capacity, 1)) * float64(time.Second))
}

// rounded rounds d ns up to three digits.
func rounded(d float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(max(d, 1)))-2)
	return duration(math.Ceil(d/unit-1e-9) * unit)
}

// firstWaits is the number of draws of Choice.FirstWait.
const firstWaits = 10_000

// hourly is the most clients of the outage of an hour, whose attempts do not depend on their number.
const hourly = 200

// retries returns the most retries of a client in an outage, so that a policy that hardly waits comes to an end. One for a
// job needs no more: it makes at most MostAttempts in an hour, and once the server is back each failure of a client is in
// a second in which the server serves others.
func (c *Choose) retries(down time.Duration) int {
	return MostAttempts*(1+int(down/time.Hour)) + c.Clients/c.Capacity
}

// Run computes the choices. A client is not served if it needs more than a week after the server's return, or more than
// MostAttempts for each hour of the outage, whole or begun, and one for each second that the server needs for all.
//
// It returns a *FieldError and no result for a Choose that cannot be run. It returns a *StoppedError with the finished
// strategies, and the recommended one of them, when ctx ends.
func (c Choose) Run(ctx context.Context) (*Choices, error) {
	check := checker{model: "Choose"}
	check.count("Clients", c.Clients, 1, maxClients)
	check.count("Processes", c.Processes, 0, min(max(c.Clients, 1), maxProcesses))
	check.count("Capacity", c.Capacity, 1, maxRetries)
	check.count("Runs", c.Runs, 1, math.MaxInt32)
	check.count("len(Outages)", len(c.Outages), 1, maxClients)
	for i, d := range c.Outages {
		check.notNegative(fmt.Sprintf("Outages[%d]", i), d)
	}
	check.notNegative("Served", c.Served)
	check.notNegative("Wait", c.Wait)
	check.placement("Placement", c.Placement)
	check.strategies(c.Strategies)
	if c.Processes == 0 {
		for i, s := range c.Strategies {
			check.count(fmt.Sprintf("Strategies[%d].Processes", i), s.Processes, 0, max(c.Clients, 1))
		}
	}
	if check.err != nil {
		return nil, check.err
	}
	strategies := c.Strategies
	if strategies == nil {
		strategies = Candidates(c.Clients, c.Capacity, 0, c.Placement)
	}
	// The last run of a strategy is the outage of an hour.
	r := &Choices{Choices: []Choice{}, Recommended: -1}
	var runs []*OutageResult
	// Before it each outage has the runs of clients that come together, then those of clients that come at random.
	perChoice := 2*len(c.Outages)*c.Runs + 1
	of := func(i int) (strategy Strategy, down, arrive time.Duration, hour bool) {
		strategy = strategies[i/perChoice]
		if i %= perChoice; i == perChoice-1 {
			return strategy, time.Hour, 0, true
		}
		down = c.Outages[i/c.Runs/2]
		if i/c.Runs%2 == 1 {
			arrive = down
		}
		return strategy, down, arrive, false
	}
	n, done := len(strategies)*perChoice, 0
	err := many[*OutageResult]{
		n: n, progress: c.Progress,
		weight: func(i int) float64 {
			_, down, _, hour := of(i)
			if hour {
				return down.Seconds() * min(hourly/float64(c.Clients), 1)
			}
			return 1 + down.Seconds() + float64(c.Clients)/float64(c.Capacity)
		},
		worker: func() computation[*OutageResult] {
			return func(ctx context.Context, i int) (*OutageResult, error) {
				s, down, arrive, hour := of(i)
				o := Outage{
					Policy: s.Policy, Placement: s.Placement, Processes: cmp.Or(c.Processes, s.Processes), Clients: c.Clients, Capacity: c.Capacity, Down: down, Arrive: arrive,
					Seed: c.Seed + uint64(i%perChoice%c.Runs), Horizon: add(down, 7*24*time.Hour),
				}
				most := c.retries(down)
				if hour {
					most = MostAttempts // more attempts are too many, whatever their number
					o.Clients = min(c.Clients, hourly)
					o.Processes, o.Capacity, o.Horizon = min(o.Processes, o.Clients), o.Clients, down
				}
				if own, ok := s.Policy.Limit(); !ok || own > most {
					o.Policy = s.Policy.With(retry.Limit(most))
				}
				res, err := o.Run(ctx)
				if errors.Is(err, ErrHorizon) {
					err = nil
				}
				return res, err
			}
		},
		merge: func(i int, x *OutageResult) {
			done++
			if runs = append(runs, x); len(runs) == perChoice {
				r.Choices = append(r.Choices, c.choice(strategies[i/perChoice], runs))
				runs = nil
			}
		},
	}.run(ctx)
	r.recommend()
	if stopped, ok := errors.AsType[*StoppedError](err); ok {
		return r, &StoppedError{"Choose", stopped.Cause, stopped.At, int64(done), int64(n), "runs"}
	}
	return r, err
}

// choice returns the result of a strategy's runs, of which the last is the outage of an hour.
func (c *Choose) choice(s Strategy, runs []*OutageResult) Choice {
	hour := runs[len(runs)-1]
	choice := Choice{Strategy: s, Attempts: hour.PerClient, FirstWait: c.firstWait(s)}
	late := false // a target is missed
	for i, down := range c.Outages {
		var after, refusals, peak moments
		random := runs[(2*i+1)*c.Runs:][:c.Runs]
		runs := runs[2*i*c.Runs:][:c.Runs]
		o := ChoiceOutage{Down: down, Best: runs[0].Best - down}
		for _, x := range runs {
			took := max(0, x.End-down)
			after.add(int64(took))
			refusals.addFigure(float64(x.FailuresAfter))
			peak.addFigure(float64(x.PeakAfter))
			o.Unserved += int64(x.Clients - x.Served)
			late = late || x.Served < x.Clients || c.Served > 0 && took > c.Served
		}
		o.Served = medianOf(runs, func(x *OutageResult) int { return x.Served })
		o.Left = medianOf(runs, func(x *OutageResult) time.Duration { return x.Left.P50 })
		o.Attempts = medianOf(runs, func(x *OutageResult) float64 { return x.PerClient.Mean })
		o.After, o.Refusals, o.Peak = after.spread(), refusals.estimate(), peak.estimate()
		choice.Outages = append(choice.Outages, o)
		choice.Refusals += o.Refusals.Mean / float64(c.Clients)
		choice.End = max(choice.End, o.After.P50)
		choice.Random.End = max(choice.Random.End, medianOf(random, func(x *OutageResult) time.Duration { return max(0, x.End-down) }))
		for _, x := range random {
			choice.Random.Refusals += float64(x.FailuresAfter) / float64(c.Runs*c.Clients)
		}
	}
	choice.Meets = !late && choice.FirstWait.Most >= 999*time.Millisecond && choice.Attempts.Most <= MostAttempts && (c.Wait == 0 || choice.FirstWait.P99 <= c.Wait)
	return choice
}

// medianOf returns the median of a figure, the lower one of two.
func medianOf[N cmp.Ordered](runs []*OutageResult, figure func(*OutageResult) N) N {
	var all []N
	for _, x := range runs {
		all = append(all, figure(x))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// recommend sets Recommended.
func (r *Choices) recommend() {
	shortest := never
	for _, x := range r.Choices {
		if x.Meets {
			shortest = min(shortest, x.End)
		}
	}
	for i := range r.Choices {
		x := &r.Choices[i]
		if x.Meets && x.End <= add(shortest, shortest/10) && (r.Recommended < 0 || x.better(&r.Choices[r.Recommended])) {
			r.Recommended = i
		}
	}
}

// firstWait returns the distribution of the first waits of many operations.
func (c *Choose) firstWait(s Strategy) Spread {
	all := newOperations(s.Policy, s.Placement, 1, newRand(c.Seed))
	var m moments
	for i := range firstWaits {
		var o operation
		all.begin(&o, i)
		if wait, err := o.fail(errFailed, 0, 0); err == nil {
			m.add(int64(wait))
		}
	}
	return m.spread()
}

// better reports whether x is recommended rather than y, if their Ends count as equal.
func (x *Choice) better(y *Choice) bool {
	if d := x.Refusals - y.Refusals; d > 0.01 || d < -0.01 {
		return d < 0
	}
	if d := x.Attempts.Mean / max(y.Attempts.Mean, 1); d > 1.1 || d < 0.9 {
		return d < 1
	}
	return x.FirstWait.P50 < y.FirstWait.P50
}
