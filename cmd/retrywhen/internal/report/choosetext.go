package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// Text returns the figures as a table, and the recommended policies.
func (x *Choices) Text(width int) []string {
	width = min(width, maxWidth)
	if len(x.Shown) == 0 {
		return []string{"no policies: the run stopped before one was simulated"}
	}
	header := []string{"policy", "first wait", "p99", "refusals", "served"}
	for _, d := range x.of.Outages {
		header = append(header, "down "+axis.Time(d))
	}
	var rows [][]string
	var whom []string
	for _, i := range x.Shown {
		c := x.Result.Choices[i]
		mark := "  "
		switch {
		case i == x.Result.Recommended:
			mark = "▶ "
		case !c.Meets:
			mark = "✗ "
		}
		row := []string{mark + c.Name, axis.Time(c.FirstWait.P50), axis.Time(c.FirstWait.P99), axis.Number(c.Refusals), axis.Time(c.End)}
		for _, o := range c.Outages {
			after := axis.Time(o.After.P50)
			if o.Unserved > 0 {
				after, row[4] = "never", "never"
			}
			row = append(row, after)
		}
		rows = append(rows, row)
		whom = append(whom, console.Wrap(width, strings.Fields(c.Name+": "+x.whom(i)+".")...)...)
	}
	lines := append(console.Fit(width, header, rows, 1), whom...)
	notes := fmt.Sprintf("Clients: %d. Capacity per second: %d. %sFirst wait: the median for an operation that fails alone. Refusals: per client after "+
		"the server's return, all outages together. Down: the time from the server's return until all are served, the median of %s; at best %s. Served: the sum of these times.",
		x.of.Clients, x.of.Capacity, x.targets(), count(x.of.Runs, "run", "runs"), axis.Time(time.Duration((x.of.Clients-1)/x.of.Capacity)*time.Second))
	if n := len(x.Result.Choices) - len(x.Shown); n > 0 {
		notes += fmt.Sprintf(" Not shown: %s, which others beat or resemble.", count(n, "policy", "policies"))
	}
	lines = append(lines, "")
	lines = append(lines, console.Wrap(width, strings.Fields(notes)...)...)
	lines = append(lines, "")
	if r := x.Policy; r != nil {
		lines = append(lines, r.Text, r.Go)
		for _, why := range r.Why {
			lines = append(lines, console.Wrap(width, strings.Fields(why)...)...)
		}
		lines = append(lines, "A job that must not be lost takes the backoff alone. To see that run:", "  "+r.Run.Command)
	} else if len(x.Result.Choices) > 0 {
		lines = append(lines, console.Wrap(width, strings.Fields("No policy meets the targets (✗). One may with more capacity, with slots, or with other targets.")...)...)
	}
	return lines
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
	if r := x.Policy; r != nil {
		f.Note = "recommended: " + r.Text
	}
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
			end, n := o.After.P50.Seconds(), o.Refusals.Mean/float64(x.of.Clients)
			if o.Unserved > 0 {
				end = math.NaN()
			}
			most, mostRefused = max(most, o.After.P50.Seconds()), max(mostRefused, n)
			ends = append(ends, picture.Point{X: map[bool]float64{true: math.NaN(), false: float64(j)}[math.IsNaN(end)], Y: end})
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
