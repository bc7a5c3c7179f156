package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

// Boundary is an Overload at several loads: up to which one does the server recover?
type Boundary struct {
	Overload           // its Load and Horizon are ignored
	Points   int       // the number of loads, evenly spaced below the capacity
	Loads    []float64 // operations a second, instead of Points
}

// BoundaryResult is the result of a Boundary.
type BoundaryResult struct {
	*sim.BoundaryResult
	Loads []float64 `json:"loads"`
	of    Boundary
	compared
}

// Run computes the boundary. It returns a *sim.FieldError and no result for an invalid Boundary, and a
// *sim.StoppedError with the points computed so far when ctx ends.
func (b Boundary) Run(ctx context.Context) (*BoundaryResult, error) {
	if b.Loads == nil {
		for i := range b.Points {
			b.Loads = append(b.Loads, float64(i+1)/float64(b.Points+1)*b.capacity())
		}
	}
	run := sim.Boundary{Overload: b.Overload.Overload, Loads: b.Loads, Runs: b.Runs, Progress: b.Progress.of("boundary")}
	for _, s := range b.Strategies {
		run.Callers = append(run.Callers, sim.Callers{Name: s.Title(), Layers: s.layers(b.Timeout)})
	}
	r, err := run.Run(ctx)
	if r == nil {
		return nil, err
	}
	if n := len(r.Points); n > 0 && r.Points[n-1].Runs < b.Runs { // it is not finished
		r.Points = r.Points[:n-1]
	}
	return &BoundaryResult{r, b.Loads, b, compareTimed(b.Strategies, b.Timeout)}, err
}

// JSON returns the result.
func (r *BoundaryResult) JSON() any { return r }

// points returns the computed points of a strategy.
func (r *BoundaryResult) points(i int) []sim.BoundaryPoint {
	n := len(r.of.Loads)
	return r.Points[min(i*n, len(r.Points)):min((i+1)*n, len(r.Points))]
}

// safe returns the highest load from which a strategy's server recovers, as a text.
func (r *BoundaryResult) safe(i int) string {
	if len(r.points(i)) == 0 {
		return "-"
	}
	if r.Highest[i] == 0 {
		return "none of these"
	}
	return fmt.Sprintf("%s/s (%s)", axis.Number(r.Highest[i]), percent(r.Highest[i]/r.of.capacity()))
}

var boundaryHeader = []string{"policy", "safe up to", "then recovers in", "requests there"}

// rows returns the cells of the table.
func (r *BoundaryResult) rows() [][]string {
	var rows [][]string
	for i, s := range r.of.Strategies {
		row := []string{s.Title(), r.safe(i), "all runs of all loads", "-"}
		if len(r.points(i)) < len(r.of.Loads) {
			row[2] = "not finished"
		}
		for _, p := range r.points(i) {
			if p.Recovered < p.Runs {
				row[2] = fmt.Sprintf("%d of %d at %s/s", p.Recovered, p.Runs, axis.Number(p.Load))
				row[3] = fmt.Sprintf("%.1f", p.Amplification.Mean)
				break
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// note returns sentences about the runs.
func (r *BoundaryResult) note() string {
	return fmt.Sprintf("Safe: the server recovered within a minute of the stall's end in %d of %[1]d runs at this load and at all lower ones. %s operations per second; "+
		"the capacity is %s per second; from %s on the server stands still for %s. Requests: per operation.",
		r.of.Runs, loadsText(r.of.Loads), axis.Number(r.of.capacity()), axis.Time(r.of.Trigger.At), axis.Time(r.of.Trigger.For))
}

func loadsText(loads []float64) string {
	texts := make([]string, len(loads))
	for i, l := range loads {
		texts[i] = axis.Number(l)
	}
	return "The loads are " + list(texts)
}

// Text returns the highest safe loads as a table, and in how many runs the server recovers at each load.
func (r *BoundaryResult) Text(width int) []string {
	width = min(width, maxWidth)
	lines := console.Fit(width, boundaryHeader, r.rows(), 1)
	lines = append(lines, console.Wrap(width, strings.Fields(r.note())...)...)
	for i, s := range r.of.Strategies {
		var cells []string
		for _, p := range r.points(i) {
			cells = append(cells, fmt.Sprintf("%s: %d", axis.Number(p.Load), p.Recovered))
		}
		lines = append(lines, "", fmt.Sprintf("%s: runs of %d that recover, by load", s.Title(), r.of.Runs))
		lines = append(lines, console.Wrap(width, cells...)...)
	}
	return lines
}

// Figure returns the share of the runs that recover against the load.
func (r *BoundaryResult) Figure() picture.Figure {
	most := r.of.Loads[len(r.of.Loads)-1]
	p := picture.Panel{
		Title: "share of the runs in which the server recovers, in %", Height: 240,
		X: picture.Axis{Label: "operations per second", Most: most * 1.02, Ticks: axis.Numbers(most, 8)},
		Y: picture.Axis{Most: 105, Ticks: axis.Numbers(100, 5)},
	}
	f := picture.Figure{Columns: 1, Width: 760, Note: r.note()}
	for i, s := range r.of.Strategies {
		var points []picture.Point
		for _, x := range r.points(i) {
			points = append(points, picture.Point{X: x.Load, Y: 100 * float64(x.Recovered) / float64(x.Runs)})
		}
		p.Series(i, s.Title(), 1.8, points)
	}
	f.Panels = []picture.Panel{p}
	return f
}
