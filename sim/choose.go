package sim

import (
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
// costs, and which one it recommends. All clients fail together at the beginning, which is the worst case.
type Choose struct {
	Clients  int             `json:"clients"`  // 1 to 10,000,000
	Capacity int             `json:"capacity"` // clients that the server serves a second, once it is back
	Outages  []time.Duration `json:"outages"`  // how long the server is down

	// Served is the target for the time from the server's return until all clients are served, in every run of every
	// outage; 0 is no target.
	Served time.Duration `json:"served"`

	// Wait is the target for the wait of an operation that fails once, alone: 99 % of the policy's first waits must not be
	// longer; 0 is no target.
	Wait time.Duration `json:"wait"`

	Strategies []Strategy `json:"strategies"` // the choices; nil is Candidates in the Placement
	Placement  Placement  `json:"placement"`  // of the Candidates
	Slots      bool       `json:"slots"`      // the server assigns slots, see Outage
	Runs       int        `json:"runs"`       // for each outage
	Seed       uint64     `json:"seed"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the work done in millionths.
	Progress func(done, total int64) `json:"-"`
}

// Choices is the result of a Choose.
type Choices struct {
	Choices []Choice `json:"choices"` // in the order of the strategies

	// Recommended is the index of the recommended strategy, -1 if none meets the targets. It is the one that meets them
	// with the shortest End. Of Ends that are at most a tenth longer, the one with the fewest refusals counts, and of
	// refusals that differ by at most 0.01 a client the shorter mean first wait.
	Recommended int `json:"recommended"`
}

// Choice is the result of one strategy.
type Choice struct {
	Strategy
	Meets     bool           `json:"meets"`     // whether it meets the targets
	Refusals  float64        `json:"refusals"`  // per client, on average, after the server's return, over all outages
	FirstWait Spread         `json:"firstWait"` // the wait of an operation that fails once, alone
	End       time.Duration  `json:"end"`       // the time from the server's return until all clients are served: the sum of the medians of all outages
	Unbeaten  bool           `json:"unbeaten"`  // it serves all clients, and no other strategy that does is as good in Refusals, mean FirstWait and End and better in one of them
	Outages   []ChoiceOutage `json:"outages"`
}

// ChoiceOutage is the result of one outage under a strategy.
type ChoiceOutage struct {
	Down     time.Duration `json:"down"`
	Best     time.Duration `json:"best"`     // when all could be served, after the server's return
	After    Spread        `json:"after"`    // when the last client of a run was served, after the server's return
	Unserved int64         `json:"unserved"` // clients that were never served, in all runs
	Attempts Estimate      `json:"attempts"` // per client
	Refusals Estimate      `json:"refusals"` // attempts that failed although the server was back, because it was busy
	Peak     Estimate      `json:"peak"`     // the most attempts in a second, after the server's return
}

// Candidates returns the policies that Choose compares by default, for a number of clients and a capacity, in the given
// placement. Four are the usual ones, with waits from a second to half a minute. Three are computed from the arguments:
// their longest waits are Wave, or twice Wave with full jitter. Arguments below 1 panic.
func Candidates(clients, capacity int, p Placement) []Strategy {
	if clients < 1 || capacity < 1 {
		panic(fmt.Sprintf("sim: Candidates: clients is %d and capacity is %d, want at least 1", clients, capacity))
	}
	usual := backoff.Exponential(time.Second, 2).Cap(30 * time.Second)
	wave := Wave(clients, capacity)
	var all []Strategy
	for _, c := range []struct {
		name string
		b    backoff.Backoff
	}{
		{"exponential, full", usual.Jitter(jitter.Full)},
		{"exponential, equal", usual.Jitter(jitter.Equal)},
		{"decorrelated", backoff.Decorrelated(time.Second).Cap(30 * time.Second)},
		{"exponential, tiled", usual.Tiled()},
		{"one wave, tiled", backoff.Constant(wave).Tiled()},
		{"up to one wave, tiled", backoff.Exponential(min(time.Second, wave), 2).Cap(wave).Tiled()},
		{"up to one wave, full", backoff.Exponential(min(time.Second, 2*wave), 2).Cap(2 * wave).Jitter(jitter.Full)},
	} {
		all = append(all, Strategy{c.name, retry.New(c.b), p})
	}
	return all
}

// Wave returns 1.1 times the time that a server with that capacity per second needs for all clients, rounded up to
// three digits. With this wait a tiled fleet never exceeds the capacity.
func Wave(clients, capacity int) time.Duration {
	d := 1.1 * float64(clients) / float64(max(capacity, 1)) * float64(time.Second)
	unit := math.Pow(10, math.Floor(math.Log10(max(d, 1)))-2)
	return duration(math.Ceil(d/unit-1e-9) * unit)
}

// firstWaits is the number of draws of Choice.FirstWait.
const firstWaits = 10_000

// givenUp is how long after the server's return a client that is not served yet counts as unserved.
const givenUp = 24 * time.Hour

// Run computes the choices.
//
// It returns a *FieldError and no result for a Choose that cannot be run. It returns a *StoppedError with the finished
// strategies, none of them recommended, when ctx ends or a policy retries endlessly at one instant (ErrStuck).
func (c Choose) Run(ctx context.Context) (*Choices, error) {
	check := checker{model: "Choose"}
	check.count("Clients", c.Clients, 1, maxClients)
	check.count("Capacity", c.Capacity, 1, maxRetries)
	check.count("Runs", c.Runs, 1, math.MaxInt32)
	check.count("len(Outages)", len(c.Outages), 1, maxClients)
	for i, d := range c.Outages {
		check.notNegative(fmt.Sprintf("Outages[%d]", i), d)
	}
	check.notNegative("Served", c.Served)
	check.notNegative("Wait", c.Wait)
	check.choice("Placement", uint8(c.Placement), placements)
	for i, s := range c.Strategies {
		check.choice(fmt.Sprintf("Strategies[%d].Placement", i), uint8(s.Placement), placements)
	}
	if check.err != nil {
		return nil, check.err
	}
	strategies := c.Strategies
	if strategies == nil {
		strategies = Candidates(c.Clients, c.Capacity, c.Placement)
	}
	var (
		r         = &Choices{Choices: []Choice{}, Recommended: -1}
		choice    Choice
		after     moments
		attempts  moments
		refusals  moments
		peak      moments
		unserved  int64
		late      bool // a target is missed
		done      int64
		perChoice = len(c.Outages) * c.Runs
		n         = len(strategies) * perChoice
	)
	err := many[*OutageResult]{
		n: n, progress: c.Progress,
		weight: func(i int) float64 {
			return 1 + c.Outages[i%perChoice/c.Runs].Seconds() + float64(c.Clients)/float64(c.Capacity)
		},
		worker: func() func(one) (*OutageResult, error) {
			return func(run one) (*OutageResult, error) {
				s, down := strategies[run.i/perChoice], c.Outages[run.i%perChoice/c.Runs]
				o := Outage{
					Policy: s.Policy, Placement: s.Placement, Clients: c.Clients, Capacity: c.Capacity, Down: down, Slots: c.Slots,
					Seed: c.Seed + uint64(run.i%c.Runs), Horizon: add(down, givenUp), Progress: run.progress,
				}
				res, err := o.Run(run.ctx)
				if errors.Is(err, ErrHorizon) {
					err = nil
				}
				return res, err
			}
		},
		merge: func(i int, x *OutageResult) {
			done++
			s, down := strategies[i/perChoice], c.Outages[i%perChoice/c.Runs]
			if i%perChoice == 0 {
				choice, late = Choice{Strategy: s, FirstWait: c.firstWait(s)}, false
			}
			took := max(0, x.End-down)
			after.add(int64(took))
			attempts.addFigure(x.PerClient.Mean)
			refusals.addFigure(float64(x.FailuresAfter))
			peak.addFigure(float64(x.PeakAfter))
			unserved += int64(x.Clients - x.Served)
			late = late || x.Served < x.Clients || c.Served > 0 && took > c.Served
			if i%c.Runs < c.Runs-1 {
				return
			}
			choice.Outages = append(choice.Outages, ChoiceOutage{
				down, x.Best - down, after.spread(), unserved, attempts.estimate(), refusals.estimate(), peak.estimate(),
			})
			choice.Refusals += refusals.estimate().Mean / float64(c.Clients)
			choice.End = add(choice.End, time.Duration(after.percentile(50)))
			unserved = 0
			for _, m := range []*moments{&after, &attempts, &refusals, &peak} {
				m.reset()
			}
			if i%perChoice == perChoice-1 {
				choice.Meets = !late && (c.Wait == 0 || choice.FirstWait.P99 <= c.Wait)
				r.Choices = append(r.Choices, choice)
			}
		},
	}.run(ctx)
	if stopped, ok := errors.AsType[*StoppedError](err); ok {
		return r, &StoppedError{"Choose", stopped.Cause, stopped.At, done, int64(n), "runs"}
	}
	r.compare()
	return r, err
}

// compare sets Unbeaten and Recommended.
func (r *Choices) compare() {
	shortest := never
	for i := range r.Choices {
		x := &r.Choices[i]
		x.Unbeaten = x.servesAll() && !slices.ContainsFunc(r.Choices, func(y Choice) bool { return y.servesAll() && y.beats(x) })
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

// servesAll reports whether all clients were served in all runs.
func (x *Choice) servesAll() bool {
	return !slices.ContainsFunc(x.Outages, func(o ChoiceOutage) bool { return o.Unserved > 0 })
}

// beats reports whether x is nowhere worse than y, and better somewhere.
func (x *Choice) beats(y *Choice) bool {
	return x.Refusals <= y.Refusals && x.FirstWait.Mean <= y.FirstWait.Mean && x.End <= y.End &&
		(x.Refusals < y.Refusals || x.FirstWait.Mean < y.FirstWait.Mean || x.End < y.End)
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
	return x.FirstWait.Mean < y.FirstWait.Mean
}
