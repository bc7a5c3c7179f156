package model

import (
	"context"
	"errors"
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
	Work         time.Duration // the maximum real time for one strategy; 0 is no limit
	Progress     Progress
}

// OverloadResult is the result of an Overload.
type OverloadResult struct {
	Load       float64                  `json:"load"`
	Trigger    sim.Trigger              `json:"trigger"`
	Horizon    time.Duration            `json:"horizon"`
	Strategies []OverloadStrategyResult `json:"strategies"`
}

// OverloadStrategyResult is the result of one strategy.
type OverloadStrategyResult struct {
	Name   string              `json:"name"`
	Policy Strategy            `json:"policy"`
	Note   string              `json:"note,omitempty"` // the text of Err
	Result *sim.OverloadResult `json:"result"`         // nil if not computed
	Err    error               `json:"-"`              // why something is missing: a *sim.StoppedError
}

// DefaultOverload returns the default of the command and the page: a server of 100 requests a second under a load of 80
// a second, a standstill of 5 s, and an attempt timeout of one second.
func DefaultOverload() Overload {
	const policy = "exponential base=100ms factor=2 cap=10s jitter=full attempttimeout=1s "
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
			Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second}, Horizon: 2 * time.Minute,
		},
	}
}

// Run computes the overload. It returns a *sim.FieldError and no result for an invalid Overload, and a
// *sim.StoppedError with the result so far when ctx ends.
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	r := &OverloadResult{Load: o.Load, Trigger: o.Trigger, Horizon: o.Horizon, Strategies: []OverloadStrategyResult{}}
	for _, s := range o.Strategies {
		x := OverloadStrategyResult{Name: s.Title(), Policy: s}
		run := o.Overload
		run.Layers, run.Progress = s.layers(o.Timeout), o.Progress.of(x.Name)
		x.Result, x.Err = o.one(ctx, run)
		if x.Err != nil {
			if _, ok := errors.AsType[*sim.StoppedError](x.Err); !ok {
				return nil, x.Err
			}
			x.Note = x.Err.Error()
		}
		r.Strategies = append(r.Strategies, x)
		if ctx.Err() != nil {
			return r, x.Err
		}
	}
	return r, nil
}

func (o Overload) one(ctx context.Context, run sim.Overload) (*sim.OverloadResult, error) {
	if o.Work > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Work)
		defer cancel()
	}
	return run.Run(ctx)
}

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

// Recovery returns whether the server recovers, as a text: "after 16s", "at once", "not within 1m45s", "not healthy
// before" or "not computed".
func (x *OverloadStrategyResult) Recovery() string {
	switch {
	case x.Result == nil:
		return "not computed"
	case x.Result.Recovery.Verdict == sim.UnhealthyBefore:
		return "not healthy before"
	case x.Result.Recovery.Verdict == sim.NotRecovered:
		return "not within " + axis.Time(x.Result.Recovery.Within)
	case x.Result.Recovery.After == 0:
		return "at once"
	}
	return "after " + axis.Time(x.Result.Recovery.After)
}

// Verdict returns whether the server recovers, as the end of a sentence.
func (x *OverloadStrategyResult) Verdict() string {
	switch text := x.Recovery(); {
	case x.Result == nil:
		return text
	case x.Result.Recovery.Verdict == sim.UnhealthyBefore:
		return "was " + text
	default:
		if within, ok := strings.CutPrefix(text, "not "); ok {
			return "does not recover " + within
		}
		return "recovers " + text
	}
}
