package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Choose is a sim.Choose of the backoffs of the strategies.
type Choose struct {
	Strategies []Strategy    // empty is sim.Candidates
	sim.Choose               // its Strategies and Progress are ignored
	Timeout    time.Duration // of an attempt
	Work       time.Duration // the maximum real time for the choice; 0 is no limit
	Progress   Progress
}

// DefaultChoose returns the default of the command and the page.
func DefaultChoose() Choose {
	return Choose{Timeout: time.Second, Choose: sim.Choose{
		Clients: 1000, Processes: 1, Capacity: 20, Runs: 5, Wait: time.Second,
		Outages: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute},
	}}
}

// choosing is the first seed of the runs that make the choice: others than those of the figures.
const choosing = 1 << 40

// Choices is the result of a Choose.
type Choices struct {
	Strategies []Strategy // as in Result
	Result     *sim.Choices
	Shown      []int    // the strategies to choose from: those that no other beats at something, or the ones that were given
	Policies   []advice // the recommended ones; none if no backoff meets the targets
	Missing    int      // strategies that Work has left out
	of         Choose
	compared
}

// Run computes the choices. It returns a *sim.FieldError and no result for an invalid Choose, and a *sim.StoppedError
// with the finished strategies when ctx ends, or when Work is over before one is finished.
func (c Choose) Run(ctx context.Context) (*Choices, error) {
	if c.Timeout <= 0 {
		return nil, &sim.FieldError{Model: "Choose", Field: "Timeout", Value: c.Timeout, Want: "more than 0"}
	}
	run := c.Choose
	run.Progress, run.Seed, run.Strategies = c.Progress.of("choosing"), choosing, nil
	for _, s := range c.Strategies {
		s.Policy = retry.New(s.Policy.Backoff())
		run.Strategies = append(run.Strategies, s.Sim())
	}
	if len(c.Strategies) == 0 && c.Clients > 0 && c.Capacity > 0 {
		run.Strategies = sim.Candidates(c.Clients, c.Capacity, c.Timeout, c.Placement)
	}
	// With a limit of real time there is one run of each first.
	began := time.Now()
	if c.Work > 0 {
		run.Runs = 1
	}
	r, err := limited(ctx, c.Work, run.Run)
	if run.Runs < c.Runs && err == nil && time.Since(began) < c.Work {
		run.Runs = c.Runs
		if more, err := limited(ctx, c.Work-time.Since(began), run.Run); err == nil {
			r = more
		} else {
			run.Runs = 1
		}
	}
	if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
		return nil, err
	}
	c.Runs = run.Runs
	all := &Choices{Result: r, of: c}
	for _, x := range r.Choices {
		all.Strategies = append(all.Strategies, Strategy{Name: x.Name, Policy: x.Policy, Placement: x.Placement})
	}
	all.compared.strategies = all.Strategies
	all.show()
	if err != nil && ctx.Err() == nil && len(r.Choices) > 0 { // Work is over
		all.Missing, err = len(run.Strategies)-len(r.Choices), nil
	}
	if err == nil && r.Recommended >= 0 {
		all.Policies, err = all.advise(ctx)
	}
	return all, err
}

// mostShown is the maximum number of candidates to choose from.
const mostShown = 5

// show sets the strategies to choose from: all that were given, else the recommended one and others that are unbeaten
// and better at something, first those that are the best at it.
func (x *Choices) show() {
	add := func(i int) {
		if i >= 0 && !slices.Contains(x.Shown, i) && (len(x.Shown) < mostShown && x.offered(i) || len(x.of.Strategies) > 0) {
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
	{"the shortest first wait", "a shorter first wait", "a longer first wait", func(c *sim.Choice) float64 { return c.FirstWait.P50.Seconds() }, func(c *sim.Choice) string { return axis.Time(c.FirstWait.P50) }},
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

// noticed is the least share by which a figure must be less.
const noticed = 0.05

// offered reports whether a strategy is the recommended one, or better in a figure by a share that is noticed.
func (x *Choices) offered(i int) bool {
	want, _ := x.compareWith(i)
	return i == x.Result.Recommended || len(want) > 0
}

// compareWith returns in what a strategy is better than the recommended one, and in what it is worse. If none is
// recommended, it returns in what it is the best.
func (x *Choices) compareWith(i int) (better, worse []string) {
	c := &x.Result.Choices[i]
	for _, q := range qualities {
		if x.Result.Recommended < 0 {
			if x.best(q.figure) == i {
				better = append(better, q.best)
			}
			continue
		}
		than := &x.Result.Choices[x.Result.Recommended]
		instead := fmt.Sprintf(" (%s instead of %s)", q.text(c), q.text(than))
		switch a, b := q.figure(c), q.figure(than); {
		case a < (1-noticed)*b:
			better = append(better, q.less+instead)
		case a > (1+noticed)*b:
			worse = append(worse, q.more+instead)
		}
	}
	return better, worse
}

// whom returns for whom a strategy is, compared with the recommended one.
func (x *Choices) whom(i int) string {
	c := &x.Result.Choices[i]
	better, worse := x.compareWith(i)
	switch {
	case i == x.Result.Recommended:
		return "recommended: it meets the targets, and serves all clients soonest, or nearly so with fewer refusals"
	case !c.Unbeaten || len(better) == 0:
		return "dominated: another policy is at least as good everywhere"
	case len(worse) > 0:
		return "for those who want " + list(better) + " and accept " + list(worse)
	}
	return "for those who want " + list(better)
}

// JSON returns the result of all strategies, and the recommended policies.
func (x *Choices) JSON() any {
	return struct {
		*sim.Choices
		Policies []advice `json:"policies"`
	}{x.Result, x.Policies}
}
