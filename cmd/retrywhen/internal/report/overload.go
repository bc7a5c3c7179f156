package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// Overload is a sim.Overload under each of the strategies.
type Overload struct {
	Strategies   []Strategy
	sim.Overload               // its Layers and Progress are ignored
	Timeout      time.Duration // of attempts whose policy has no AttemptTimeout; 0 is none
	Runs         int           // how many runs say how often the server recovers; 0 is one
	Work         time.Duration // the maximum real time for the runs of one strategy; 0 is no limit
	Progress     Progress
}

// OverloadResult is the result of an Overload.
type OverloadResult struct {
	Load       float64                  `json:"load"`
	Trigger    sim.Trigger              `json:"trigger"`
	Horizon    time.Duration            `json:"horizon"` // of the charts
	Strategies []OverloadStrategyResult `json:"strategies"`
	of         Overload
	compared
}

// OverloadStrategyResult is the result of one strategy.
type OverloadStrategyResult struct {
	Name   string              `json:"name"`
	Policy Strategy            `json:"policy"`
	Note   string              `json:"note,omitempty"` // the text of Err
	Result *sim.OverloadResult `json:"result"`         // of the median run
	Runs   *sim.BoundaryPoint  `json:"runs,omitempty"` // nil if they were stopped
	Err    error               `json:"-"`              // why something is missing: a *sim.StoppedError
}

// DefaultOverload returns the default of the command and the page: a server of 100 requests a second under a load of 80
// a second, a standstill of 5 s, and an attempt timeout of one second.
func DefaultOverload() Overload {
	const policy = "exponential base=100ms factor=2 cap=10s jitter=full "
	return Overload{
		Strategies: MustParse("3 retries: "+policy+"limit=3", "3 retries and a budget: "+policy+"limit=3 budget=10,1,0.1", "no retry: "+policy+"limit=0"),
		Timeout:    time.Second, Runs: 10,
		Overload: sim.Overload{
			Load: 80, Service: sim.Service{Mean: 10 * time.Millisecond},
			Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second},
		},
	}
}

// calm is the least time between the stall's end and the end of an Overload.
const calm = 30 * time.Second

// Run computes the overload: the runs of each strategy, and then the median one again, for the other figures and the
// charts. Without a Horizon these end at 1.5 times the longest recovery, at least after a minute. It returns a
// *sim.FieldError and no result for an invalid Overload, and a *sim.StoppedError with the result so far when ctx ends.
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	stalls := o.Trigger.At + o.Trigger.For
	if least := stalls + calm; o.Horizon > 0 && o.Horizon < least && stalls >= 0 {
		return nil, &sim.FieldError{Model: "Overload", Field: "Horizon", Value: axis.Time(o.Horizon), Want: fmt.Sprintf(
			"at least %s: the stall ends at %s, and a recovery takes time", axis.Time(least), axis.Time(stalls))}
	}
	o.Runs = max(o.Runs, 1)
	r := &OverloadResult{compared: compareTimed(o.Strategies, o.Timeout), of: o, Load: o.Load, Trigger: o.Trigger, Horizon: o.Horizon, Strategies: []OverloadStrategyResult{}}
	var longest time.Duration
	for _, s := range o.Strategies {
		x := OverloadStrategyResult{Name: s.Title(), Policy: s}
		var many *sim.BoundaryResult
		many, x.Err = limited(ctx, o.Work, o.runs(s, x.Name).Run)
		if many == nil {
			return nil, x.Err
		}
		if len(many.Points) > 0 {
			x.Runs = &many.Points[0]
			longest = max(longest, x.Runs.After.Most)
		}
		r.Strategies = append(r.Strategies, x)
	}
	if o.Horizon == 0 {
		r.Horizon = max(3*(stalls+o.Trigger.Ramp+longest)/2, stalls+o.Trigger.Ramp+calm, time.Minute)
	}
	if o.Bin == 0 {
		o.Bin = max(ChartBin(r.Horizon), time.Second)
	}
	r.of = o
	for i, s := range o.Strategies {
		x, run := &r.Strategies[i], o.Overload
		run.Layers, run.Horizon = s.layers(o.Timeout), r.Horizon
		if x.Runs != nil {
			run.Seed += uint64(x.Runs.Median)
		}
		var err error
		if x.Result, err = run.Run(ctx); x.Result == nil {
			return nil, err
		}
		if x.Err = cmp.Or(x.Err, err); x.Err != nil {
			x.Note = r.note(x.Err)
		}
	}
	if ctx.Err() != nil {
		return r, r.Incomplete()
	}
	return r, nil
}

// JSON returns the result.
func (r *OverloadResult) JSON() any { return r }

// runs returns the runs that say how often the server recovers. They do not depend on the end of the charts.
func (o Overload) runs(s Strategy, progress string) sim.Boundary {
	o.Horizon = 0
	return sim.Boundary{
		Overload: o.Overload, Callers: []sim.Callers{{Name: s.Title(), Layers: s.layers(o.Timeout)}}, Loads: []float64{o.Load}, Runs: o.Runs, Progress: o.Progress.of(progress),
	}
}

// layers returns the strategy's layers. The timeout applies if the policy has none.
func (s Strategy) layers(timeout time.Duration) []sim.Layer {
	return slices.Repeat([]sim.Layer{{Policy: s.Timed(timeout).Policy, Processes: s.Processes}}, max(s.Layers, 1))
}

// Recovery returns in how many runs the server recovers, and after which time in the median of these.
func (x *OverloadStrategyResult) Recovery() (runs, after string) {
	switch {
	case x.Runs == nil:
		return "-", "-"
	case x.Runs.Recovered == 0:
		after = "-"
	case x.Runs.After.P50 == 0:
		after = "at once"
	default:
		after = axis.Time(x.Runs.After.P50)
	}
	return fmt.Sprintf("%d of %d", x.Runs.Recovered, x.Runs.Runs), after
}

// Grade returns well if the server recovers in all runs, late if it takes longer than sim.Soon in some, and bad.
func (x *OverloadStrategyResult) Grade() Grade {
	switch {
	case x.Runs == nil || x.Runs.Recovered+x.Runs.Late < x.Runs.Runs:
		return Bad
	case x.Runs.Late > 0:
		return Late
	}
	return Well
}

// Verdict returns whether the server recovers, as the end of a sentence: "recovers in 9 of 20 runs, after 16s"; of a
// single run "recovers after 16s".
func (x *OverloadStrategyResult) Verdict() string {
	runs, after := x.Recovery()
	switch {
	case x.Runs == nil:
		return "stopped early"
	case x.Runs.Recovered > 0:
		if after != "at once" {
			after = "after " + after
		}
		if x.Runs.Runs == 1 {
			return "recovers " + after
		}
		return fmt.Sprintf("recovers in %s runs, %s", runs, after)
	case x.Result.Recovery.Verdict == sim.UnhealthyBefore:
		return "was not healthy before"
	case x.Runs.Runs == 1 && x.Result.Recovery.Verdict == sim.RecoveredLate:
		return "recovers only after " + axis.Time(x.Result.Recovery.After)
	case x.Runs.Runs == 1:
		return "does not recover within " + axis.Time(sim.Soon)
	case x.Runs.Late > 0:
		return fmt.Sprintf("recovers in %s runs within %s, and in %d later", runs, axis.Time(sim.Soon), x.Runs.Late)
	}
	return fmt.Sprintf("recovers in %s runs", runs)
}
