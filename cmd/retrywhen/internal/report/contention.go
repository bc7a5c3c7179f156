package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

// Contention is a sim.OCC for several numbers of clients, under each of the strategies.
type Contention struct {
	Strategies []Strategy
	Clients    int // the largest number
	Points     int // the number of points, evenly spaced up to Clients
	Runs       int // for each point
	Network    sim.Network
	Seed       uint64
	Horizon    time.Duration // of each run; 0 is ContentionHorizon
	Progress   Progress
}

// DefaultContention returns the strategies of "Exponential Backoff And Jitter".
func DefaultContention() []Strategy {
	return MustParse(
		"none: constant d=0s",
		"exponential: exponential base=10ms factor=2 cap=2s",
		"full: exponential base=10ms factor=2 cap=2s jitter=full",
		"equal: exponential base=10ms factor=2 cap=2s jitter=equal",
		"decorrelated: decorrelated base=5ms cap=2s",
	)
}

// ContentionPoints is the default of a Contention's points.
const ContentionPoints = 10

// ContentionHorizon is the default of a Contention's end.
const ContentionHorizon = 30 * 24 * time.Hour

// ContentionResult is the result of a Contention.
type ContentionResult struct {
	Runs       int
	Clients    []int
	Strategies []ContentionStrategyResult
	of         Contention
	compared
}

// ContentionStrategyResult is the result of one strategy, with a point for each computed number of clients.
type ContentionStrategyResult struct {
	Name   string
	Policy Strategy
	Points []sim.SweepPoint
	Note   string // the text of Err
	Err    error  // a *sim.StoppedError if points are missing
}

// Run computes the contention. It returns a *sim.FieldError and no result for an invalid Contention, and a
// *sim.StoppedError with the points computed so far when ctx ends.
func (c Contention) Run(ctx context.Context) (*ContentionResult, error) {
	if c.Horizon == 0 {
		c.Horizon = ContentionHorizon
	}
	r := &ContentionResult{compared: compared{strategies: c.Strategies}, of: c, Runs: c.Runs, Clients: clientCounts(c.Clients, c.Points)}
	for _, s := range c.Strategies {
		points, err := sim.Sweep{
			Strategies: []sim.Strategy{s.Sim()}, Clients: r.Clients, Runs: c.Runs, Network: c.Network, Seed: c.Seed, Horizon: c.Horizon,
			Progress: c.Progress.of("contention: " + s.Title()),
		}.Run(ctx)
		if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
			return nil, err
		}
		r.Strategies = append(r.Strategies, ContentionStrategyResult{Name: s.Title(), Policy: s, Points: points, Note: r.note(err), Err: err})
		if err != nil && ctx.Err() != nil {
			return r, err
		}
	}
	return r, nil
}

// JSON returns the result.
func (r *ContentionResult) JSON() any {
	out := struct {
		Runs    int              `json:"runs"`
		Clients []int            `json:"clients"`
		Points  []sim.SweepPoint `json:"points"`
	}{r.Runs, r.Clients, []sim.SweepPoint{}}
	for _, x := range r.Strategies {
		out.Points = append(out.Points, x.Points...)
	}
	return out
}

// clientCounts returns about points numbers of clients, evenly spaced up to most.
func clientCounts(most, points int) []int {
	var counts []int
	for i := 1; i <= points; i++ {
		if n := most * i / points; n > 0 && (len(counts) == 0 || n > counts[len(counts)-1]) {
			counts = append(counts, n)
		}
	}
	return counts
}

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
	lines = append(lines, "", "Time until all are done, mean / p99")
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
		Title: "time until all are done", X: x, Height: 260,
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
