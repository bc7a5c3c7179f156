package report

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// advice is a recommended policy, and what happens with it as it is printed.
type advice struct {
	Use      string          `json:"use"` // request or job
	Text     string          `json:"policy"`
	Go       string          `json:"go"`
	Outages  []adviceOutage  `json:"outages"`
	Overload *adviceOverload `json:"overload,omitempty"` // of the request
	strategy Strategy
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

// personal is the backoff of a request, for which a person waits.
var personal = backoff.Exponential(100*time.Millisecond, 2).Cap(2 * time.Second).Jitter(jitter.Full)

// capacities are those of a request's budget, the most generous first. A retry costs 1 and a success refunds 0.1: in the
// long run there is a retry for ten successes.
var capacities = []float64{10, 5, 2, 1}

// adviceRuns is how many runs the verdict of a request has.
const adviceRuns = 20

// overload returns the overload of a request, and among how many processes its callers are divided: at most
// mostProcesses. The server has the default capacity, and the processes are scaled with it.
func (x *Choices) overload(seed uint64) (Overload, int) {
	o := DefaultOverload()
	o.Timeout, o.Seed, o.Runs, o.Progress = x.of.Timeout, seed, adviceRuns, x.of.Progress
	return o, min(max(int(math.Round(float64(x.of.Processes)*o.capacity()/float64(x.of.Capacity))), 1), mostProcesses)
}

// advise returns the two recommended policies. For a request it is always a person's backoff, with the first capacity of
// a budget with which a server that stalls recovers in all runs; if there is none, the one with which it recovers in
// most, and the last one if it never does. For a job it is the recommended backoff alone, whose figures become those of
// its printed policy.
func (x *Choices) advise(ctx context.Context) ([]advice, error) {
	best := &x.Result.Choices[x.Result.Recommended]
	job, request := Strategy{Name: "job", Policy: best.Policy, Placement: best.Placement}, Strategy{Name: "request"}
	o, processes := x.overload(choosing)
	most := -1
	for _, tokens := range capacities {
		p := retry.New(personal, retry.Limit(3), retry.AttemptTimeout(x.of.Timeout), retry.WithBudget(retry.NewBudget(tokens, 1, 0.1)))
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
	stalled := request
	stalled.Processes = processes
	o.Strategies = []Strategy{stalled}
	stall, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	var all []advice
	for i, s := range []Strategy{request, job} {
		a := advice{Use: s.Name, Text: s.text(), Go: gocode.Policy(s.Name, s.Policy, s.Placement), strategy: s}
		for _, d := range figures.Choices[i].Outages {
			a.Outages = append(a.Outages, adviceOutage{d.Down, d.Served, x.of.Clients, d.Attempts, d.Left})
		}
		all = append(all, a)
	}
	printed := figures.Choices[1]
	printed.Name, printed.Meets = best.Name, best.Meets
	*best = printed
	y := &stall.Strategies[0]
	all[0].Overload = &adviceOverload{
		Load: int(o.Load), Rate: int(o.capacity() + 0.5), Patience: o.Timeout.String(), Policy: stalled.String(), Verdict: y.Verdict(),
		Runs: y.Runs.Runs, Recovers: y.Runs.Recovered,
		Command: fmt.Sprintf(`retrywhen sim overload --runs %d --seed %d %q`, o.Runs, o.Seed, stalled.String()),
	}
	return all, nil
}

// sentence returns what happens to the clients in an outage, and what else is to be known of a policy.
func (x *Choices) sentence(a *advice) string {
	text := ""
	for i := range a.Outages { // the middle one, or the next in which clients give up
		o := a.Outages[(len(a.Outages)/2+i)%len(a.Outages)]
		if o.Served < o.Of {
			text = fmt.Sprintf("In an outage of %s, %s of %s give up, half of them %s.", axis.Time(o.Down), Grouped(int64(o.Of-o.Served)), Grouped(int64(o.Of)), o.gone())
			break
		}
	}
	if o := a.Overload; o != nil {
		if text == "" {
			text = fmt.Sprintf("All of %s are served.", count(x.of.Clients, "client", "clients"))
		}
		return text + fmt.Sprintf(" A server of %d per second with a load of %d that stalls for %s %s.", o.Rate, o.Load, axis.Time(DefaultOverload().Trigger.For), o.Verdict)
	}
	c := &x.Result.Choices[x.Result.Recommended]
	is := "are"
	if x.of.Clients == 1 {
		is = "is"
	}
	return fmt.Sprintf("%s %s served within %s of the server's return, with %s for each. If they come at random times: within %s, with %s. "+
		"Where jobs arrive at a rate whatever happens, bound their queue, or give them a budget.",
		count(x.of.Clients, "client", "clients"), is, axis.Time(c.End), refusals(c.Refusals), axis.Time(c.Random.End), refusals(c.Random.Refusals))
}

func refusals(x float64) string {
	if text := axis.Number(x); text != "1" {
		return text + " refusals"
	}
	return "1 refusal"
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
