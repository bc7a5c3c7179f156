package report

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Outage is a sim.Outage under each of the strategies.
type Outage struct {
	Strategies []Strategy
	sim.Outage               // its Policy, Placement and Progress are ignored; a strategy's Processes replace its own
	Limit      int           // of the retries; 0 is the policy's own
	Budget     *retry.Budget // of policies that have none; nil is none
	Work       time.Duration // the maximum real time for one strategy; 0 is no limit
	Progress   Progress
}

// OutageHorizon is the default of an Outage's end, after the server's return.
const OutageHorizon = 7 * 24 * time.Hour

// OutageResult is the result of an Outage.
type OutageResult struct {
	Down       time.Duration          `json:"down"`
	Strategies []OutageStrategyResult `json:"strategies"`
	of         Outage
	compared
}

// OutageStrategyResult is the result of one strategy.
type OutageStrategyResult struct {
	Name   string            `json:"name"`
	Policy Strategy          `json:"policy"`
	Note   string            `json:"note,omitempty"` // the text of Err
	After  time.Duration     `json:"after"`          // when the last client was served, after the server's return
	Best   time.Duration     `json:"best"`           // when it could have been, after the server's return
	Result *sim.OutageResult `json:"result"`         // nil if not computed
	Err    error             `json:"-"`              // why something is missing: ErrNoRetry, or a *sim.StoppedError
}

// Run computes the outage. It returns a *sim.FieldError and no result for an invalid Outage, and a *sim.StoppedError
// with the result so far when ctx ends.
func (o Outage) Run(ctx context.Context) (*OutageResult, error) {
	if o.Horizon == 0 {
		o.Horizon = o.Down + min(OutageHorizon, math.MaxInt64-max(o.Down, 0))
	}
	r := &OutageResult{compared: compareTimed(o.Strategies, o.Timeout), of: o, Down: o.Down, Strategies: []OutageStrategyResult{}}
	for _, s := range o.Strategies {
		x := OutageStrategyResult{Name: s.Title(), Policy: s}
		run := o.Outage
		run.Policy, run.Placement, run.Progress = s.Policy, s.Placement, o.Progress.of(x.Name)
		if s.Processes > 0 {
			run.Processes = s.Processes
		}
		if _, ok := run.Policy.Budget(); !ok && o.Budget != nil {
			run.Policy = run.Policy.With(retry.WithBudget(o.Budget))
		}
		if o.Limit > 0 {
			run.Policy = run.Policy.With(retry.Limit(o.Limit))
		}
		if limit, ok := run.Policy.Limit(); ok && limit == 0 {
			x.Err = ErrNoRetry
		}
		if x.Err == nil {
			x.Result, x.Err = limited(ctx, o.Work, run.Run)
			if x.Result == nil {
				return nil, x.Err
			}
		}
		x.Note = r.note(x.Err)
		if x.Result != nil {
			x.After, x.Best = max(0, x.Result.End-o.Down), x.Result.Best-o.Down
		}
		r.Strategies = append(r.Strategies, x)
		if x.Result != nil && x.Err != nil && ctx.Err() != nil {
			return r, x.Err
		}
	}
	return r, nil
}

// End returns the end of the bin with the strategy's last attempt; 0 if there is no result.
func (x *OutageStrategyResult) End() time.Duration {
	if x.Result == nil {
		return 0
	}
	bin, n := x.Result.Traffic.Bin, time.Duration(len(x.Result.Traffic.Attempts))
	if n > math.MaxInt64/bin {
		return math.MaxInt64
	}
	return bin * n
}

// End returns the end of the bin with the last attempt of all strategies.
func (r *OutageResult) End() time.Duration {
	var end time.Duration
	for i := range r.Strategies {
		end = max(end, r.Strategies[i].End())
	}
	return end
}

// JSON returns the result.
func (r *OutageResult) JSON() any { return r }

// traffic returns the attempts of a chart that ends at end, and those that are served. It joins bins of the simulation.
func (x *OutageStrategyResult) traffic(end time.Duration) (bin time.Duration, attempts, served []int64) {
	t := x.Result.Traffic
	n := max(int(ChartBin(end)/t.Bin), 1)
	return t.Bin * time.Duration(n), together(t.Attempts, n), together(t.Served, n)
}

// top returns the end of the charts' y axis, a little above the highest rate after the server's return: the peak of the
// first failures would make all else invisible.
func (r *OutageResult) top() float64 {
	highest := float64(r.of.Capacity)
	for i := range r.Strategies {
		x := &r.Strategies[i]
		if x.Result == nil {
			continue
		}
		bin, attempts, _ := x.traffic(r.End())
		for _, n := range attempts[min(int(r.Down/bin), len(attempts)):] {
			highest = max(highest, rate(n, bin))
		}
	}
	return highest * 1.1
}

// ParseBudget parses capacity,cost,refund[,refill per second].
func ParseBudget(text string) (*retry.Budget, error) {
	p, err := retry.Parse("constant d=0s budget=" + text)
	if parse, ok := errors.AsType[*backoff.ParseError](err); ok {
		return nil, errors.New(parse.Reason)
	}
	b, _ := p.Budget()
	return b, err
}
