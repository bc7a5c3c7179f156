package model

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Outage is a server that comes back, and its clients under each of the strategies.
type Outage struct {
	Strategies []Strategy
	sim.Outage               // but for Policy, Placement and Progress; a strategy's Budget goes first
	Limit      int           // of the retries; 0 is the policy's own
	Work       time.Duration // the most real time for one strategy; 0 is no limit
	Progress   Progress
}

// OutageResult is what has become of an Outage.
type OutageResult struct {
	Down       time.Duration          `json:"down"`
	Strategies []OutageStrategyResult `json:"strategies"`
}

// OutageStrategyResult is that of one strategy.
type OutageStrategyResult struct {
	Name   string            `json:"name"`
	Policy Strategy          `json:"policy"`
	Note   string            `json:"note,omitempty"` // the text of Err
	Result *sim.OutageResult `json:"result"`         // nil if it was not computed
	Err    error             `json:"-"`              // why something is missing: ErrNoRetry, or a *sim.StoppedError
}

// Run computes the outage. Its errors are a *sim.FieldError, with no result, and the *sim.StoppedError of ctx, with
// what was computed until then.
func (o Outage) Run(ctx context.Context) (*OutageResult, error) {
	r := &OutageResult{Down: o.Down, Strategies: []OutageStrategyResult{}}
	for _, s := range o.Strategies {
		x := OutageStrategyResult{Name: s.Title(), Policy: s}
		run := o.Outage
		run.Policy, run.Placement, run.Progress = s.Policy, s.Placement, o.Progress.of(x.Name)
		if s.Processes > 0 {
			run.Processes = s.Processes
		}
		if s.Budget != nil {
			run.Budget = s.Budget
		}
		if o.Limit > 0 {
			run.Policy = run.Policy.With(retry.Limit(o.Limit))
		}
		if limit, ok := run.Policy.Limit(); ok && limit == 0 {
			x.Err = ErrNoRetry
		}
		if x.Err == nil {
			x.Result, x.Err = o.one(ctx, run)
			if _, ok := errors.AsType[*sim.StoppedError](x.Err); x.Err != nil && !ok {
				return nil, x.Err
			}
		}
		if x.Err != nil {
			x.Note = x.Err.Error()
		}
		r.Strategies = append(r.Strategies, x)
		if ctx.Err() != nil {
			return r, x.Err
		}
	}
	return r, nil
}

func (o Outage) one(ctx context.Context, run sim.Outage) (*sim.OutageResult, error) {
	if o.Work > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Work)
		defer cancel()
	}
	return run.Run(ctx)
}

// End returns when the last attempt of the strategy was, to the bin; 0 if there is no result.
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

// End returns when the last attempt of all was, to the bin.
func (r *OutageResult) End() time.Duration {
	var end time.Duration
	for i := range r.Strategies {
		end = max(end, r.Strategies[i].End())
	}
	return end
}

// Bars returns the traffic for a chart that ends at end: the simulation's bins put together.
func (x *OutageStrategyResult) Bars(end time.Duration) (bin time.Duration, attempts, served []int64) {
	t := x.Result.Traffic
	bin = max(ChartBin(end), t.Bin)
	bin -= bin % t.Bin
	n := int(bin / t.Bin)
	together := func(counts []int64) []int64 {
		var out []int64
		for i, c := range counts {
			if i%n == 0 {
				out = append(out, 0)
			}
			out[len(out)-1] += c
		}
		return out
	}
	return bin, together(t.Attempts), together(t.Served)
}
