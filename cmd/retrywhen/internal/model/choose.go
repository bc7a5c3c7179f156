package model

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/sim"
)

// Choose is a fleet that wants to know which of the strategies to take.
type Choose struct {
	Strategies []Strategy // none takes sim.Candidates
	sim.Choose            // but for Strategies and Progress
	Progress   Progress
}

// Choices are what has become of a Choose.
type Choices struct {
	Strategies []Strategy // as in Result
	Result     *sim.Choices
}

// Run computes the choices. Its errors are a *sim.FieldError, with no result, and a *sim.StoppedError with the
// strategies that were finished.
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
