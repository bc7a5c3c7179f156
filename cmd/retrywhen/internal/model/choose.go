package model

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/sim"
)

// Choose is a sim.Choose of the strategies.
type Choose struct {
	Strategies []Strategy // empty is sim.Candidates
	sim.Choose            // its Strategies and Progress are ignored
	Progress   Progress
}

// Choices is the result of a Choose.
type Choices struct {
	Strategies []Strategy // as in Result
	Result     *sim.Choices
}

// Run computes the choices. It returns a *sim.FieldError and no result for an invalid Choose, and a *sim.StoppedError
// with the finished strategies when it is stopped.
func (c Choose) Run(ctx context.Context) (*Choices, error) {
	run, strategies := c.Choose, c.Strategies
	run.Progress = c.Progress.of("choosing")
	for _, s := range strategies {
		run.Strategies = append(run.Strategies, s.Sim())
	}
	if len(strategies) == 0 {
		run.Strategies = nil
	}
	r, err := run.Run(ctx)
	if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
		return nil, err
	}
	all := &Choices{Result: r}
	for _, x := range r.Choices {
		all.Strategies = append(all.Strategies, Strategy{Name: x.Name, Policy: x.Policy, Placement: x.Placement})
	}
	return all, err
}
