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

// complete is a recommended backoff with the limit, the timeout and the budget that a caller's policy needs.
type complete struct {
	Text string    `json:"text"`
	Go   string    `json:"go"`
	Why  [2]string `json:"why"`
	Run  proof     `json:"run"` // shows what the second sentence of Why says
}

// proof is an overload under the complete policy, and under its backoff alone.
type proof struct {
	Load       int      `json:"load"`
	Rate       int      `json:"rate"` // the server's capacity per second
	Patience   string   `json:"patience"`
	Strategies []string `json:"strategies"`
	Command    string   `json:"command"`
	result     *OverloadResult
}

// The candidates of the limits and the capacities of a budget, the most generous first. A retry costs 1 and a success
// refunds 0.1: in the long run there is a retry for ten successes.
var bounds = []struct {
	limit  int
	tokens float64
}{{3, 10}, {3, 5}, {3, 2}, {3, 1}, {2, 1}, {1, 1}}

// Candidates must recover within patient times the time without retries.
const patient = 1.5

// The simulated server is not smaller or larger than this; the number of processes is scaled with it.
const leastRate, mostRate = 10, 500

// proofLoad is the share of the capacity that the load of a proof is.
const proofLoad = 0.8

// complete adds to the recommended backoff the first bounds with which a server that stalls recovers almost as soon as
// without retries; if there are none, those with which it recovers soonest.
func (x *Choices) complete(ctx context.Context) (*complete, error) {
	s := x.Strategies[x.Result.Recommended]
	rate := min(max(x.of.Capacity, leastRate), mostRate)
	scale := float64(rate) / float64(x.of.Capacity)
	processes := max(int(math.Round(float64(x.of.Processes)*scale)), 1)

	o := DefaultOverload()
	o.Load, o.Service.Mean, o.Timeout, o.Horizon, o.Seed = math.Round(proofLoad*float64(rate)), time.Second/time.Duration(rate), 0, 2*time.Minute, x.of.Seed
	alone := Strategy{Name: "the backoff alone", Policy: s.Policy.With(retry.AttemptTimeout(x.of.Timeout))}
	none := Strategy{Name: "no retry", Policy: alone.Policy.With(retry.Limit(0))}
	candidates := []Strategy{none}
	for _, b := range bounds {
		budget := retry.NewBudget(b.tokens, 1, 0.1)
		candidates = append(candidates, Strategy{Name: s.Name, Policy: alone.Policy.With(retry.Limit(b.limit), retry.WithBudget(budget)), Processes: processes})
	}
	soonest := func(r *OverloadResult) time.Duration {
		if len(r.Strategies) == 0 || r.Strategies[0].Result.Recovery.Verdict != sim.Recovered {
			return math.MaxInt64
		}
		return r.Strategies[0].Result.Recovery.After
	}
	best, bestAfter, enough := candidates[len(candidates)-1], time.Duration(math.MaxInt64), time.Duration(0)
	for i, c := range candidates {
		o.Strategies = []Strategy{c}
		r, err := o.Run(ctx)
		if err != nil {
			return nil, err
		}
		after := soonest(r)
		if i == 0 {
			enough = time.Duration(min(patient*float64(after), math.MaxInt64/2))
			continue
		}
		if after < bestAfter {
			best, bestAfter = c, after
		}
		if after <= enough {
			break
		}
	}
	o.Strategies = []Strategy{best, alone}
	r, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	c := &complete{
		Text: best.Policy.String(), Go: gocode.Policy("policy", best.Policy, s.Placement),
		Run: proof{Load: int(o.Load), Rate: rate, Patience: x.of.Timeout.String(), result: r},
	}
	c.Run.Command = fmt.Sprintf("retrywhen sim overload --load %d --service %v --stall %v --horizon %v", c.Run.Load, o.Service.Mean, o.Trigger.For, o.Horizon)
	if x.of.Seed != 0 {
		c.Run.Command += fmt.Sprintf(" --seed %d", x.of.Seed)
	}
	for _, s := range o.Strategies {
		c.Run.Strategies = append(c.Run.Strategies, s.String())
		c.Run.Command += ` "` + s.String() + `"`
	}
	c.Why = [2]string{x.whyBackoff(), x.whyBounds(r, processes)}
	return c, nil
}

// whyBackoff returns what the recommended backoff does in the longest outage.
func (x *Choices) whyBackoff() string {
	c := &x.Result.Choices[x.Result.Recommended]
	longest := 0
	for i, o := range c.Outages {
		if o.Down > c.Outages[longest].Down {
			longest = i
		}
	}
	o := c.Outages[longest]
	return fmt.Sprintf("With this backoff %s served %s after an outage of %s, where %s is the best possible, and an operation that fails alone waits for %s.",
		count(x.of.Clients, "client is", "clients are"), axis.Time(o.After.P50), axis.Time(o.Down), axis.Time(o.Best), axis.Time(c.FirstWait.P50))
}

// whyBounds returns what the limit, the timeout and the budget do for a server that stalls.
func (x *Choices) whyBounds(r *OverloadResult, processes int) string {
	scaled := ""
	if r.of.capacity() != float64(x.of.Capacity) {
		scaled = fmt.Sprintf(" of %s per second, for %s", axis.Number(r.of.capacity()), count(processes, "process", "processes"))
	}
	return fmt.Sprintf("The limit, the timeout and the budget are for a server that stalls: with them, a server%s with a load of %s that stands still for %s %s; with the backoff alone it %s.",
		scaled, percent(r.Load/r.of.capacity()), axis.Time(r.Trigger.For), r.Strategies[0].Verdict(), r.Strategies[1].Verdict())
}
