package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
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
	if c.Processes == 0 {
		c.Processes = 1
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

// purpose returns what a strategy is for, compared with the recommended one.
func (x *Choices) purpose(i int) string {
	c := &x.Result.Choices[i]
	better, worse := x.compareWith(i)
	switch {
	case i == x.Result.Recommended:
		return "recommended: it meets the targets, and serves all clients soonest, or nearly so with fewer refusals"
	case slices.ContainsFunc(c.Outages, func(o sim.ChoiceOutage) bool { return o.Unserved > 0 }):
		return "some clients are not served within a week of the server's return"
	case !c.Unbeaten:
		return "dominated: another policy is at least as good everywhere"
	case len(better) == 0 && x.Result.Recommended < 0:
		return "in each figure another policy is as good or better"
	case len(better) == 0:
		return "in no figure clearly better than the recommended policy"
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

// attempts returns the attempts of a client in an outage of an hour, as a text. More than the most are not counted.
func attempts(c *sim.Choice) string {
	if c.Attempts.Most > sim.MostAttempts {
		return fmt.Sprintf("> %d", sim.MostAttempts)
	}
	return axis.Number(c.Attempts.Mean)
}

// mostTable is the maximum width of the table.
const mostTable = 97

// Text returns the recommended policies with their figures, and the backoffs to choose from as a table.
func (x *Choices) Text(width int) []string {
	width = min(width, maxWidth)
	if len(x.Shown) == 0 && len(x.Result.Choices) == 0 {
		return []string{"no policies: the run stopped before one was simulated"}
	}
	var lines []string
	say := func(text string) { lines = append(lines, console.Wrap(width, strings.Fields(text)...)...) }
	for i := range x.Policies {
		a := &x.Policies[i]
		lines = append(lines, a.title()+":", "  "+a.Text, "  "+a.Go)
		say(a.sentence())
		lines = append(lines, "")
	}
	if len(x.Policies) > 0 {
		header, rows := []string{"outage", "request: served", "give up", "attempts", "job: served", "attempts"}, [][]string{}
		for i, o := range x.Policies[0].Outages {
			job := x.Policies[1].Outages[i]
			served := func(o adviceOutage) string { return grouped(int64(o.Served)) + " of " + grouped(int64(o.Of)) }
			rows = append(rows, []string{axis.Time(o.Down), served(o), o.gone(), axis.Number(o.Attempts), served(job), axis.Number(job.Attempts)})
		}
		lines = append(lines, console.Fit(min(width, mostTable), header, rows, 1)...)
		say(fmt.Sprintf("Served, attempts per client: the median of %s. Give up: half of the clients that are not served. To see a stall:", count(x.of.Runs, "run", "runs")))
		for _, a := range x.Policies {
			lines = append(lines, "  "+a.Overload.Command)
		}
		lines = append(lines, "")
	}
	switch {
	case x.Missing > 0 && x.Result.Recommended < 0:
		say(fmt.Sprintf("Not finished: %d of %d backoffs. None of these meets the targets (✗).", len(x.Result.Choices), len(x.Result.Choices)+x.Missing))
	case x.Result.Recommended < 0:
		say("No backoff meets the targets (✗). One may with more capacity, with slots, or with other targets.")
	}
	header := []string{"backoff", "first wait", "attempts", "refusals", "served"}
	columns := x.columns()
	for _, i := range columns {
		header = append(header, "after "+axis.Time(x.of.Outages[i]))
	}
	var rows [][]string
	for _, i := range x.Shown {
		c := x.Result.Choices[i]
		mark := "  "
		switch {
		case i == x.Result.Recommended:
			mark = "▶ "
		case !c.Meets:
			mark = "✗ "
		}
		row := []string{mark + c.Name, axis.Time(c.FirstWait.P50), attempts(&c), axis.Number(c.Refusals), axis.Time(c.End)}
		for _, i := range columns {
			o := c.Outages[i]
			after := axis.Time(o.After.P50)
			if o.Unserved > 0 {
				after, row[4] = "never", "never"
			}
			row = append(row, after)
		}
		rows = append(rows, row)
	}
	lines = append(lines, console.Fit(min(width, mostTable), header, rows, 1)...)
	for _, i := range x.Shown {
		say(x.Result.Choices[i].Name + ": " + x.purpose(i) + ".")
	}
	best := ""
	if len(x.Result.Choices) > 0 {
		best = "; at best " + axis.Time(x.Result.Choices[0].Outages[0].Best)
	}
	notes := fmt.Sprintf("Clients: %d, in %s. Capacity per second: %d. %sA job's backoff is chosen from these, in runs of its own. First wait: the median for an operation that fails alone. "+
		"Attempts: of a client, in an outage of an hour. Refusals: per client after the server's return, all outages together. "+
		"Served: the time from the server's return until all are served, of the worst outage, the median of %s%s. After: the same for one outage.",
		x.of.Clients, count(x.of.Processes, "process", "processes"), x.of.Capacity, x.targets(), count(x.of.Runs, "run", "runs"), best)
	if n := len(x.Result.Choices) - len(x.Shown); n > 0 {
		notes += fmt.Sprintf(" Not shown: %s, which others beat or resemble.", count(n, "backoff", "backoffs"))
	}
	lines = append(lines, "")
	say(notes)
	return lines
}

// columns returns the outages of the table: all, or the first, the middle one and the last.
func (x *Choices) columns() []int {
	n := len(x.of.Outages)
	return slices.Compact([]int{0, n / 2, n - 1})
}

// title says what a policy is for.
func (a *advice) title() string {
	return map[string]string{"request": "Request (a person waits)", "job": "Job or connection (it must be done)"}[a.Use]
}

// targets returns the targets as sentences.
func (x *Choices) targets() string {
	text := fmt.Sprintf("Targets of a job: first waits of up to 1s or more, and at most %d attempts of a client in an outage of an hour. ", sim.MostAttempts)
	if x.of.Served > 0 {
		text += fmt.Sprintf("Target: all served within %s. ", axis.Time(x.of.Served))
	}
	if x.of.Wait > 0 {
		text += fmt.Sprintf("Target: 99 %% of the first waits at most %s. ", axis.Time(x.of.Wait))
	}
	return text
}

// Figure returns the costs of the policies against the length of the outage.
func (x *Choices) Figure() picture.Figure {
	const height = 240
	f := picture.Figure{Columns: 2}
	for _, a := range x.Policies {
		f.Note += a.Use + ": " + a.Text + "\n"
	}
	f.Note = strings.TrimSuffix(f.Note, "\n")
	labels := make([]axis.Tick, len(x.of.Outages))
	for i, d := range x.of.Outages {
		labels[i] = axis.Tick{At: float64(i), Label: axis.Time(d)}
	}
	x0 := picture.Axis{Most: max(float64(len(labels)-1), 1), Ticks: labels, Label: "length of the outage"}
	after := picture.Panel{Title: "time from the server's return until all are served", Height: height, X: x0}
	refused := picture.Panel{Title: "refusals per client", Height: height, X: x0}
	best := float64((x.of.Clients - 1) / x.of.Capacity)
	most, mostRefused := best, 1.0
	for n, i := range x.Shown {
		c := x.Result.Choices[i]
		width := 1.5
		if i == x.Result.Recommended {
			width = 3
		}
		var ends, refusals []picture.Point
		for j, o := range c.Outages {
			end, n := picture.Point{X: float64(j), Y: o.After.P50.Seconds()}, o.Refusals.Mean/float64(x.of.Clients)
			most, mostRefused = max(most, end.Y), max(mostRefused, n)
			if o.Unserved > 0 {
				end.X = math.NaN()
			}
			ends = append(ends, end)
			refusals = append(refusals, picture.Point{X: float64(j), Y: n})
		}
		after.Series(n, c.Name, width, ends)
		refused.Series(n, c.Name, width, refusals)
	}
	end := time.Duration(most * float64(time.Second))
	after.Y = picture.Axis{Most: most * 1.05, Ticks: axis.Times(end, 4)}
	refused.Y = picture.Axis{Most: mostRefused * 1.05, Ticks: axis.Numbers(mostRefused, 4)}
	f.Panels = []picture.Panel{after, refused}
	return f
}
