package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

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
		row := []string{mark + c.Name, axis.Time(c.FirstWait.P50), axis.Number(c.Attempts.Mean), axis.Number(c.Refusals), axis.Time(c.End)}
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
		say(x.Result.Choices[i].Name + ": " + x.whom(i) + ".")
	}
	notes := fmt.Sprintf("Clients: %d, in %s. Capacity per second: %d. %sA job's backoff is chosen from these, in runs of its own. First wait: the median for an operation that fails alone. "+
		"Attempts: of a client, in an outage of an hour; at most %d. Refusals: per client after the server's return, all outages together. "+
		"Served: the time from the server's return until all are served, of the worst outage, the median of %s; at best %s. After: the same for one outage.",
		x.of.Clients, count(x.of.Processes, "process", "processes"), x.of.Capacity, x.targets(), sim.MostAttempts, count(x.of.Runs, "run", "runs"),
		axis.Time(time.Duration((x.of.Clients-1)/x.of.Capacity)*time.Second))
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
	text := ""
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
