package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Overload is a sim.Overload under each of the strategies.
type Overload struct {
	Strategies   []Strategy
	sim.Overload               // its Layers and Progress are ignored
	Timeout      time.Duration // of attempts whose policy has no AttemptTimeout; 0 is none
	Runs         int           // how many runs say how often the server recovers; 0 and 1 are the one run of the other figures
	Work         time.Duration // the maximum real time for one strategy; 0 is no limit
	Progress     Progress
}

// OverloadResult is the result of an Overload.
type OverloadResult struct {
	Load       float64                  `json:"load"`
	Trigger    sim.Trigger              `json:"trigger"`
	Horizon    time.Duration            `json:"horizon"`
	Strategies []OverloadStrategyResult `json:"strategies"`
	of         Overload
	compared
}

// OverloadStrategyResult is the result of one strategy.
type OverloadStrategyResult struct {
	Name   string              `json:"name"`
	Policy Strategy            `json:"policy"`
	Note   string              `json:"note,omitempty"` // the text of Err
	Result *sim.OverloadResult `json:"result"`
	Runs   *sim.BoundaryPoint  `json:"runs,omitempty"` // of several runs
	Err    error               `json:"-"`              // why something is missing: a *sim.StoppedError
}

// DefaultOverload returns the default of the command and the page: a server of 100 requests a second under a load of 80
// a second, a standstill of 5 s, and an attempt timeout of one second.
func DefaultOverload() Overload {
	const policy = "exponential base=100ms factor=2 cap=10s jitter=full "
	strategies, err := ParseStrategies([]string{
		"3 retries: " + policy + "limit=3", "3 retries and a budget: " + policy + "limit=3 budget=10,1,0.1", "no retry: " + policy + "limit=0",
	})
	if err != nil {
		panic(err) // a default is wrong
	}
	return Overload{
		Strategies: strategies, Timeout: time.Second,
		Overload: sim.Overload{
			Load: 80, Service: sim.Service{Mean: 10 * time.Millisecond},
			Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second},
		},
	}
}

// calm is the least time between the stall's end and the end of an Overload.
const calm = 30 * time.Second

// Run computes the overload. Without a Horizon all strategies end with the one that takes longest to recover. It
// returns a *sim.FieldError and no result for an invalid Overload, and a *sim.StoppedError with the result so far when
// ctx ends.
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	stalls := o.Trigger.At + o.Trigger.For
	if least := stalls + calm; o.Horizon > 0 && o.Horizon < least && stalls >= 0 {
		return nil, &sim.FieldError{Model: "Overload", Field: "Horizon", Value: axis.Time(o.Horizon), Want: fmt.Sprintf(
			"at least %s: the stall ends at %s, and a recovery takes time", axis.Time(least), axis.Time(stalls))}
	}
	if o.Bin == 0 {
		o.Bin = max(ChartBin(o.Horizon), time.Second, (stalls+o.Trigger.Ramp)/8192) // the Flow has at most 16,384 bins
	}
	r := &OverloadResult{compared: compared{strategies: o.Strategies}, of: o, Load: o.Load, Trigger: o.Trigger, Horizon: o.Horizon, Strategies: []OverloadStrategyResult{}}
	for again := false; ; again = true {
		for i, s := range o.Strategies {
			if again && (r.Strategies[i].Err != nil || r.Strategies[i].Result.End == r.Horizon) {
				continue
			}
			x := OverloadStrategyResult{Name: s.Title(), Policy: s}
			run := o.Overload
			run.Layers, run.Progress, run.Horizon = s.layers(o.Timeout), o.Progress.of(x.Name), r.Horizon
			x.Result, x.Err = limited(ctx, o.Work, run.Run)
			if x.Err != nil {
				if _, ok := errors.AsType[*sim.StoppedError](x.Err); !ok {
					return nil, x.Err
				}
				x.Note = r.note(x.Err)
			}
			if again {
				r.Strategies[i] = x
			} else {
				r.Strategies = append(r.Strategies, x)
			}
			if x.Err != nil && ctx.Err() != nil {
				r.Horizon = max(r.Horizon, r.end())
				return r, x.Err
			}
		}
		if r.Horizon > 0 {
			return r, r.sample(ctx)
		}
		r.Horizon = r.end()
	}
}

// sample computes how often the server recovers in several runs, whose seeds follow one another.
func (r *OverloadResult) sample(ctx context.Context) error {
	o := r.of
	for i := range r.Strategies {
		if o.Runs < 2 || o.Trace != nil {
			return nil
		}
		x := &r.Strategies[i]
		many, err := sim.Boundary{
			Overload: o.Overload, Callers: []sim.Callers{{Name: x.Name, Layers: x.Policy.layers(o.Timeout)}}, Loads: []float64{o.Load}, Runs: o.Runs,
			Progress: o.Progress.of("runs of " + x.Name),
		}.Run(ctx)
		if err != nil {
			x.Err, x.Note = err, r.note(err)
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		x.Runs = &many.Points[0]
	}
	return nil
}

// end returns the latest end of the strategies' runs.
func (r *OverloadResult) end() time.Duration {
	end := time.Duration(1)
	for _, x := range r.Strategies {
		end = max(end, x.Result.End)
	}
	return end
}

// JSON returns the result.
func (r *OverloadResult) JSON() any { return r }

// layers returns the strategy's layers. The timeout applies if the policy has none.
func (s Strategy) layers(timeout time.Duration) []sim.Layer {
	l := sim.Layer{Policy: s.Policy, Processes: s.Processes}
	if _, ok := s.Policy.AttemptTimeout(); !ok && timeout > 0 {
		l.Policy = l.Policy.With(retry.AttemptTimeout(timeout))
	}
	all := make([]sim.Layer, max(s.Layers, 1))
	for i := range all {
		all[i] = l
	}
	return all
}

// Recovery returns whether the server recovers, as a text: "after 16s", "at once", "not within 1m45s" or "not healthy
// before".
func (x *OverloadStrategyResult) Recovery() string {
	switch r := x.Result.Recovery; {
	case r.Verdict == sim.UnhealthyBefore:
		return "not healthy before"
	case r.Verdict == sim.NotRecovered:
		return "not within " + axis.Time(r.Within)
	case r.After == 0:
		return "at once"
	default:
		return "after " + axis.Time(r.After)
	}
}

// Verdict returns whether the server recovers, as the end of a sentence.
func (x *OverloadStrategyResult) Verdict() string {
	text := x.Recovery()
	if x.Result.Recovery.Verdict == sim.UnhealthyBefore {
		return "was " + text
	}
	if within, ok := strings.CutPrefix(text, "not "); ok {
		return "does not recover " + within
	}
	return "recovers " + text
}
