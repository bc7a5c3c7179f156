package report

import (
	"context"
	"errors"
	"time"

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
