package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

func calls(p sim.SweepPoint) float64     { return p.Calls.Mean }
func totalTime(p sim.SweepPoint) float64 { return p.End.Mean.Seconds() }

// Text returns the figures as tables.
func (o *ContentionResult) Text(width int) []string {
	width = min(width, maxWidth)
	if !slices.ContainsFunc(o.Strategies, func(x ContentionStrategyResult) bool { return len(x.Points) > 0 }) {
		return []string{"no points: the run stopped before one was computed"}
	}
	lines := []string{"Write calls, mean / p99 of " + count(o.Runs, "run", "runs")}
	lines = append(lines, o.table(width, func(p sim.SweepPoint) string {
		return fmt.Sprintf("%.0f ±%.0f / %d", p.Calls.Mean, p.Calls.Confidence(), p.Calls.P99)
	})...)
	lines = append(lines, "", "Time until all have written, mean / p99")
	lines = append(lines, o.table(width, func(p sim.SweepPoint) string { return axis.Time(p.End.Mean) + " / " + axis.Time(p.End.P99) })...)
	return lines
}

func (o *ContentionResult) table(width int, cell func(sim.SweepPoint) string) []string {
	header := []string{"clients"}
	rows := make([][]string, len(o.Clients))
	for i, n := range o.Clients {
		rows[i] = []string{strconv.Itoa(n)}
	}
	for _, x := range o.Strategies {
		header = append(header, console.Shorten(x.Name, 24))
		for i := range rows {
			text := "-"
			if i < len(x.Points) {
				text = cell(x.Points[i])
			}
			rows[i] = append(rows[i], text)
		}
	}
	return console.Fit(width, header, rows, 0)
}

// message returns the time of a message as a text.
func (n *Contention) message() string {
	if n.Network.SD == 0 {
		return axis.Time(n.Network.Mean)
	}
	return fmt.Sprintf("|normal(%s, %s)|", axis.Time(n.Network.Mean), axis.Time(n.Network.SD))
}

// Figure returns the calls and the time against the clients.
func (o *ContentionResult) Figure() picture.Figure {
	f := picture.Figure{Columns: 2, Note: fmt.Sprintf("Means of %s. A message takes %s.", count(o.Runs, "run", "runs"), o.of.message())}
	var mostCalls, mostTime float64
	for _, x := range o.Strategies {
		for _, p := range x.Points {
			mostCalls, mostTime = max(mostCalls, calls(p)), max(mostTime, totalTime(p))
		}
	}
	last := float64(o.Clients[len(o.Clients)-1])
	x := picture.Axis{Label: "clients", Most: last * 1.02, Ticks: axis.Numbers(last, 5)}
	left := picture.Panel{Title: "write calls", X: x, Y: picture.Axis{Most: mostCalls * 1.02, Ticks: axis.Numbers(mostCalls, 5)}, Height: 260}
	right := picture.Panel{
		Title: "time until all have written", X: x, Height: 260,
		Y: picture.Axis{Most: mostTime * 1.02, Ticks: axis.Times(time.Duration(mostTime*float64(time.Second)), 6)},
	}
	for i, x := range o.Strategies {
		for _, part := range []struct {
			panel *picture.Panel
			value func(sim.SweepPoint) float64
		}{{&left, calls}, {&right, totalTime}} {
			points := make([]picture.Point, len(x.Points))
			for j, p := range x.Points {
				points[j] = picture.Point{X: float64(p.Clients), Y: part.value(p)}
			}
			part.panel.Series(i, x.Name, 1.8, points)
		}
	}
	f.Panels = []picture.Panel{left, right}
	return f
}
