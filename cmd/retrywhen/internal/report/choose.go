package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Choose is a sim.Choose of the backoffs of the strategies.
type Choose struct {
	Strategies []Strategy    // empty is sim.Candidates
	sim.Choose               // its Strategies and Progress are ignored; its Runs are those of the figures
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

// The choice is made from so many runs that they have chosenClients clients, at most mostRuns: a fleet of two differs
// much from run to run.
const chosenClients, mostRuns = 2000, 200

// Choices is the result of a Choose.
type Choices struct {
	Strategies []Strategy // as in Result
	Result     *sim.Choices
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
	if c.Wait > 0 && c.Wait < time.Second {
		return nil, &sim.FieldError{Model: "Choose", Field: "Wait", Value: c.Wait, Want: "at least 1s, because a job may wait for a second before its first retry, or 0 for no target"}
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
	if c.Runs > 0 && c.Clients > 0 {
		run.Runs = max(c.Runs, min(chosenClients/c.Clients, mostRuns))
	}
	// With a limit of real time there is one run of each first.
	began, all := time.Now(), run.Runs
	if c.Work > 0 {
		run.Runs = min(run.Runs, 1)
	}
	r, err := limited(ctx, c.Work, run.Run)
	if run.Runs < all && err == nil && time.Since(began) < c.Work {
		run.Runs = all
		if more, err := limited(ctx, c.Work-time.Since(began), run.Run); err == nil {
			r = more
		} else {
			run.Runs = 1
		}
	}
	if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
		return nil, err
	}
	c.Runs = min(c.Runs, run.Runs)
	x := &Choices{Result: r, of: c}
	for _, y := range r.Choices {
		x.Strategies = append(x.Strategies, Strategy{Name: y.Name, Policy: y.Policy, Placement: y.Placement})
	}
	x.compared.strategies = x.Strategies
	if err != nil && ctx.Err() == nil && len(r.Choices) > 0 { // Work is over
		x.Missing, err = len(run.Strategies)-len(r.Choices), nil
	}
	if err == nil && r.Recommended >= 0 {
		x.Policies, err = x.advise(ctx)
	}
	return x, err
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

// served returns the longest time until all are served as a text, for clients that come together and at random.
func served(c *sim.Choice) (together, random string) {
	for _, o := range c.Outages {
		if o.Unserved > 0 {
			return "never", "never"
		}
	}
	return axis.Time(c.End), axis.Time(c.Random.End)
}

// mostTable is the maximum width of the table.
const mostTable = 97

// Text returns the recommended policies with their figures, and the backoffs to choose from as a table.
func (x *Choices) Text(width int) []string {
	width = min(width, maxWidth)
	if len(x.Result.Choices) == 0 {
		return []string{"no policies: the run stopped before one was simulated"}
	}
	var lines []string
	say := func(text string) { lines = append(lines, console.Wrap(width, strings.Fields(text)...)...) }
	for i := range x.Policies {
		a := &x.Policies[i]
		lines = append(lines, a.title()+":", "  "+a.Text)
		for _, line := range gocode.Wrap(width-2, a.Go) {
			lines = append(lines, "  "+line)
		}
		say(x.sentence(a))
		lines = append(lines, "")
	}
	if len(x.Policies) > 0 {
		header, rows := []string{"outage", "request: served", "give up", "attempts", "job: served", "attempts"}, [][]string{}
		for i, o := range x.Policies[0].Outages {
			job := x.Policies[1].Outages[i]
			served := func(o adviceOutage) string { return Grouped(int64(o.Served)) + " of " + Grouped(int64(o.Of)) }
			rows = append(rows, []string{axis.Time(o.Down), served(o), o.gone(), axis.Number(o.Attempts), served(job), axis.Number(job.Attempts)})
		}
		lines = append(lines, console.Fit(min(width, mostTable), header, rows, 1)...)
		say(fmt.Sprintf("Served, attempts per client: the median of %s. Give up: half of the clients that are not served. To see the stall:", count(x.of.Runs, "run", "runs")))
		lines = append(lines, "  "+x.Policies[0].Overload.Command, "")
	}
	if x.Result.Recommended < 0 {
		say(x.none() + " More capacity may help, or other targets.")
	}
	header := []string{"backoff", "first wait", "attempts", "refusals", "served", "random: refusals", "served"}
	var rows [][]string
	never := ""
	for i := range x.Result.Choices {
		c := &x.Result.Choices[i]
		mark := "  "
		switch {
		case i == x.Result.Recommended:
			mark = "▶ "
		case !c.Meets:
			mark = "✗ "
		}
		together, random := served(c)
		if together == "never" {
			never = fmt.Sprintf(" Never: some clients need more than a week, or more than %d attempts in an hour.", sim.MostAttempts)
		}
		rows = append(rows, []string{mark + c.Name, axis.Time(c.FirstWait.P50), attempts(c), axis.Number(c.Refusals), together, axis.Number(c.Random.Refusals), random})
	}
	lines = append(lines, console.Fit(min(width, mostTable), header, rows, 1)...)
	lines = append(lines, "")
	say(fmt.Sprintf("▶: the job's backoff. ✗: misses a target. Clients: %s, in %s. Capacity per second: %s. %sFirst wait: the median for an operation that fails alone. "+
		"Attempts: of a client, in an outage of an hour. Refusals: per client after the server's return, all outages together. "+
		"Served: the time from the server's return until all are served, of the worst outage; at best %s. Random: the same if the clients do not come together, but at random times during the outage.%s",
		Grouped(int64(x.of.Clients)), count(x.of.Processes, "process", "processes"), Grouped(int64(x.of.Capacity)), x.targets(), axis.Time(x.Result.Choices[0].Outages[0].Best), never))
	return lines
}

// none says that no backoff meets the targets.
func (x *Choices) none() string {
	n := len(x.Result.Choices)
	if x.Missing > 0 {
		return fmt.Sprintf("Not finished: %d of %d backoffs. None of these meets the targets.", n, n+x.Missing)
	}
	return fmt.Sprintf("None of these %s meets the targets.", count(n, "backoff", "backoffs"))
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

// Figure returns the refusals of the backoffs against the time until all are served.
func (x *Choices) Figure() picture.Figure {
	f := picture.Figure{Columns: 1, Width: 960}
	for _, a := range x.Policies {
		f.Note += a.Use + ": " + a.Text + "\n"
	}
	f.Note = strings.TrimSuffix(f.Note, "\n")
	p := picture.Panel{Title: "refusals per client, against the time until all are served", Height: 300}
	var end time.Duration
	most := 1.0
	for i := range x.Result.Choices {
		c := &x.Result.Choices[i]
		if together, _ := served(c); together == "never" {
			continue
		}
		end, most = max(end, c.End), max(most, c.Refusals)
		width := 2.0
		if i == x.Result.Recommended {
			width = 4
		}
		p.Series(i, c.Name, width, []picture.Point{{X: c.End.Seconds(), Y: c.Refusals}})
	}
	p.X = picture.Axis{Most: end.Seconds() * 1.05, Ticks: axis.Times(end, 8), Label: "time from the server's return until all are served"}
	p.Y = picture.Axis{Most: most * 1.05, Ticks: axis.Numbers(most, 5)}
	f.Panels = []picture.Panel{p}
	return f
}
