package report

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// advice is a recommended policy, and what happens with it as it is printed.
type advice struct {
	Use      string         `json:"use"` // request or job
	Text     string         `json:"policy"`
	Go       string         `json:"go"`
	For      string         `json:"for"` // when to use it
	Outages  []adviceOutage `json:"outages"`
	Overload adviceOverload `json:"overload"`
	strategy Strategy
	after    time.Duration // when all are served after the longest outage
	longest  time.Duration
}

// adviceOutage is an outage under a policy. Its figures are the medians of the runs.
type adviceOutage struct {
	Down     time.Duration `json:"down"`
	Served   int           `json:"served"`
	Of       int           `json:"of"`
	Attempts float64       `json:"attempts"` // per client
	Left     time.Duration `json:"left"`     // when the median client that gave up did; 0 if none did
}

// adviceOverload is an overload under a policy.
type adviceOverload struct {
	Load     int    `json:"load"`
	Rate     int    `json:"rate"` // the server's capacity per second
	Patience string `json:"patience"`
	Policy   string `json:"policy"` // with the processes
	Verdict  string `json:"verdict"`
	Runs     int    `json:"runs"`
	Recovers int    `json:"recovered"`
	Command  string `json:"command"`
}

// The limits and the capacities of a budget, the most generous first. A retry costs 1 and a success refunds 0.1: in the
// long run there is a retry for ten successes.
var bounds = []struct {
	limit  int
	tokens float64
}{{3, 10}, {3, 5}, {3, 2}, {3, 1}, {2, 1}, {1, 1}}

// The simulated server is not smaller or larger than this; the number of processes is scaled with it.
const leastRate, mostRate = 10, 100

// proofLoad is the share of the capacity that the load of the overload is.
const proofLoad = 0.8

// overload returns the overload of the recommended policies, and among how many processes its callers are divided: at
// most mostProcesses.
func (x *Choices) overload(seed uint64) (Overload, int) {
	rate := min(max(x.of.Capacity, leastRate), mostRate)
	o := DefaultOverload()
	o.Load, o.Service.Mean, o.Timeout, o.Horizon, o.Seed = math.Round(proofLoad*float64(rate)), time.Second/time.Duration(rate), x.of.Timeout, 2*time.Minute, seed
	return o, min(max(int(math.Round(float64(x.of.Processes)*float64(rate)/float64(x.of.Capacity))), 1), mostProcesses)
}

// advise returns the two recommended policies: for a request the recommended backoff with the first bounds with which a
// server that stalls recovers in all runs; if there are none, those with which it recovers in most, and the last ones
// if it never does. For a job the backoff alone.
func (x *Choices) advise(ctx context.Context) ([]advice, error) {
	s := x.Strategies[x.Result.Recommended]
	job := Strategy{Name: "job", Policy: s.Policy, Placement: s.Placement}
	request := Strategy{Name: "request", Placement: s.Placement}
	o, processes := x.overload(choosing)
	o.Progress = x.of.Progress
	most := -1
	for _, b := range bounds {
		p := s.Policy.With(retry.Limit(b.limit), retry.AttemptTimeout(x.of.Timeout), retry.WithBudget(retry.NewBudget(b.tokens, 1, 0.1)))
		r, err := o.runs(Strategy{Policy: p, Processes: processes}, "budgets").Run(ctx)
		if err != nil {
			return nil, err
		}
		if n := r.Points[0].Recovered; n > most || most == 0 {
			most, request.Policy = n, p
		}
		if most == o.Runs {
			break
		}
	}
	run := x.of.Choose
	run.Progress, run.Strategies = x.of.Progress.of("policies"), []sim.Strategy{request.Sim(), job.Sim()}
	figures, err := run.Run(ctx)
	if err != nil {
		return nil, err
	}
	o, _ = x.overload(x.of.Seed)
	o.Progress, o.Strategies = x.of.Progress, nil
	for _, s := range []Strategy{request, job} {
		if s.shared() {
			s.Processes = processes
		}
		o.Strategies = append(o.Strategies, s)
	}
	stall, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	var all []advice
	for i, s := range []Strategy{request, job} {
		a := advice{
			Use: s.Name, Text: s.text(), Go: gocode.Policy(s.Name, s.Policy, s.Placement), For: [...]string{"a person waits", "it must be done"}[i], strategy: s,
		}
		for _, d := range figures.Choices[i].Outages {
			a.Outages = append(a.Outages, adviceOutage{d.Down, d.Served, x.of.Clients, d.Attempts, d.Left})
			if d.Down >= a.longest {
				a.longest, a.after = d.Down, d.After.P50
			}
		}
		y := &stall.Strategies[i]
		a.Overload = adviceOverload{
			Load: int(o.Load), Rate: int(o.capacity() + 0.5), Patience: o.Timeout.String(), Policy: o.Strategies[i].String(), Verdict: y.Verdict(),
			Runs: y.Runs.Runs, Recovers: y.Runs.Recovered,
			Command: fmt.Sprintf(`retrywhen sim overload --load %d --service %v --horizon %v --seed %d`, int(o.Load), o.Service.Mean, o.Horizon, o.Seed),
		}
		if _, own := s.Policy.AttemptTimeout(); !own {
			a.Overload.Command += fmt.Sprintf(" --timeout %v", o.Timeout)
		}
		a.Overload.Command += fmt.Sprintf(" %q", o.Strategies[i].String())
		all = append(all, a)
	}
	return all, nil
}

// sentence returns what happens to the clients in an outage, and to a server that stalls.
func (a *advice) sentence() string {
	text := fmt.Sprintf("All of %s are served, %s after an outage of %s.", count(a.Outages[0].Of, "client", "clients"), axis.Time(a.after), axis.Time(a.longest))
	for i := range a.Outages { // the middle one, or the next in which clients give up
		o := a.Outages[(len(a.Outages)/2+i)%len(a.Outages)]
		if o.Served < o.Of {
			text = fmt.Sprintf("In an outage of %s, %s of %s give up, half of them %s.", axis.Time(o.Down), grouped(int64(o.Of-o.Served)), grouped(int64(o.Of)), o.gone())
			break
		}
	}
	return text + fmt.Sprintf(" A server of %d per second with a load of %d that stalls for %s %s.", a.Overload.Rate, a.Overload.Load, axis.Time(DefaultOverload().Trigger.For), a.Overload.Verdict)
}

// gone returns when the median client that gave up did.
func (o *adviceOutage) gone() string {
	switch {
	case o.Served == o.Of:
		return "-"
	case o.Left == 0:
		return "at once"
	}
	return "after " + axis.Time(o.Left)
}
