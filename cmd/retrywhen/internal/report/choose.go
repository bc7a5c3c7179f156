package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// Choose is a sim.Choose of the strategies.
type Choose struct {
	Strategies []Strategy    // empty is sim.Candidates
	sim.Choose               // its Strategies and Progress are ignored
	Processes  int           // among which the clients are divided
	Timeout    time.Duration // of an attempt
	Work       time.Duration // the maximum real time for the outages; 0 is no limit
	Progress   Progress
}

// DefaultChoose returns the default of the command and the page.
func DefaultChoose() Choose {
	return Choose{Processes: 1, Timeout: time.Second, Choose: sim.Choose{
		Clients: 1000, Capacity: 20, Runs: 5, Wait: time.Second,
		Outages: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute},
	}}
}

// Choices is the result of a Choose.
type Choices struct {
	Strategies []Strategy // as in Result
	Result     *sim.Choices
	Shown      []int     // the strategies to choose from: those that no other beats at something, or the ones that were given
	Policy     *complete // the recommended one; nil if there is none
	Missing    int       // strategies that Work has left out
	of         Choose
	compared
}

// Run computes the choices. It returns a *sim.FieldError and no result for an invalid Choose, and a *sim.StoppedError
// with the finished strategies when ctx ends, or when Work is over before one is finished.
func (c Choose) Run(ctx context.Context) (*Choices, error) {
	switch {
	case c.Processes < 1 || c.Processes > mostProcesses:
		return nil, &sim.FieldError{Model: "Choose", Field: "Processes", Value: c.Processes, Want: fmt.Sprintf("1 to %d", mostProcesses)}
	case c.Timeout <= 0:
		return nil, &sim.FieldError{Model: "Choose", Field: "Timeout", Value: c.Timeout, Want: "more than 0"}
	}
	run := c.Choose
	run.Progress = c.Progress.of("choosing")
	run.Strategies = nil
	for _, s := range c.Strategies {
		run.Strategies = append(run.Strategies, s.Sim())
	}
	r, err := limited(ctx, c.Work, run.Run)
	if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
		return nil, err
	}
	all := &Choices{Result: r, of: c}
	for _, x := range r.Choices {
		all.Strategies = append(all.Strategies, Strategy{Name: x.Name, Policy: x.Policy, Placement: x.Placement})
	}
	all.compared.strategies = all.Strategies
	all.show()
	if err != nil && ctx.Err() == nil && len(r.Choices) > 0 { // Work is over
		all.Missing, err = len(run.Strategies), nil
		if all.Missing == 0 {
			all.Missing = len(sim.Candidates(c.Clients, c.Capacity, c.Placement))
		}
		all.Missing -= len(r.Choices)
	}
	if err == nil && r.Recommended >= 0 {
		all.Policy, err = all.complete(ctx)
	}
	return all, err
}

// mostShown is the maximum number of candidates to choose from.
const mostShown = 5

// show sets the strategies to choose from: all that were given, else the recommended one and others that are unbeaten,
// first those that are the best at something.
func (x *Choices) show() {
	add := func(i int) {
		if i >= 0 && !slices.Contains(x.Shown, i) && (len(x.Shown) < mostShown || len(x.of.Strategies) > 0) {
			x.Shown = append(x.Shown, i)
		}
	}
	add(x.Result.Recommended)
	for _, q := range qualities {
		add(x.best(q.figure))
	}
	for i, c := range x.Result.Choices {
		if c.Unbeaten || len(x.of.Strategies) > 0 {
			add(i)
		}
	}
	slices.Sort(x.Shown)
}

// quality is a figure in which the choices differ.
type quality struct {
	best, less, more string
	figure           func(*sim.Choice) float64
	text             func(*sim.Choice) string
}

var qualities = []quality{
	{"the fewest refusals", "fewer refusals", "more refusals", func(c *sim.Choice) float64 { return c.Refusals }, func(c *sim.Choice) string { return axis.Number(c.Refusals) }},
	{"the shortest first wait", "a shorter first wait", "a longer first wait", func(c *sim.Choice) float64 { return c.FirstWait.Mean.Seconds() }, func(c *sim.Choice) string { return axis.Time(c.FirstWait.Mean) }},
	{"the shortest time until all are served", "all served sooner", "all served later", func(c *sim.Choice) float64 { return c.End.Seconds() }, func(c *sim.Choice) string { return axis.Time(c.End) }},
}

// best returns the index of the unbeaten strategy with the smallest figure, -1 if there is none.
func (x *Choices) best(figure func(*sim.Choice) float64) int {
	best := -1
	for i := range x.Result.Choices {
		c := &x.Result.Choices[i]
		if c.Unbeaten && (best < 0 || figure(c) < figure(&x.Result.Choices[best])) {
			best = i
		}
	}
	return best
}

// whom returns for whom a strategy is, compared with the recommended one.
func (x *Choices) whom(i int) string {
	c := &x.Result.Choices[i]
	switch {
	case i == x.Result.Recommended:
		return "recommended: it meets the targets, and serves all clients soonest, or nearly so with fewer refusals"
	case !c.Unbeaten:
		return "for nobody: another policy is as good in everything, and better in something"
	}
	var want, accept []string
	for _, q := range qualities {
		if x.Result.Recommended < 0 {
			if x.best(q.figure) == i {
				want = append(want, q.best)
			}
			continue
		}
		than := &x.Result.Choices[x.Result.Recommended]
		instead := fmt.Sprintf(" (%s instead of %s)", q.text(c), q.text(than))
		switch {
		case math.Abs(q.figure(c)-q.figure(than)) <= 0.02*q.figure(than): // no difference to a reader
		case q.figure(c) < q.figure(than):
			want = append(want, q.less+instead)
		default:
			accept = append(accept, q.more+instead)
		}
	}
	text := "for those who want " + list(want)
	if len(want) == 0 {
		text = "for those who want a compromise"
	}
	if len(accept) > 0 {
		text += " and accept " + list(accept)
	}
	return text
}

// JSON returns the result of all strategies, and the recommended one.
func (x *Choices) JSON() any {
	return struct {
		*sim.Choices
		Policy *complete `json:"policy"`
	}{x.Result, x.Policy}
}
