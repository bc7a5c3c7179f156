package model

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
	Horizon    time.Duration // of each run; 0 is none
	Progress   Progress
}

// ContentionResult is the result of a Contention.
type ContentionResult struct {
	Runs       int
	Clients    []int
	Strategies []ContentionStrategyResult
}

// ContentionStrategyResult is the result of one strategy, with a point for each computed number of clients.
type ContentionStrategyResult struct {
	Name   string
	Policy Strategy
	Points []sim.SweepPoint
	Err    error // a *sim.StoppedError if points are missing
}

// Run computes the contention. It returns a *sim.FieldError and no result for an invalid Contention, and a
// *sim.StoppedError with the points computed so far when ctx ends.
func (c Contention) Run(ctx context.Context) (*ContentionResult, error) {
	r := &ContentionResult{Runs: c.Runs, Clients: clientCounts(c.Clients, c.Points)}
	for _, s := range c.Strategies {
		points, err := sim.Sweep{
			Strategies: []sim.Strategy{s.Sim()}, Clients: r.Clients, Runs: c.Runs, Network: c.Network, Seed: c.Seed, Horizon: c.Horizon,
			Progress: c.Progress.of("contention: " + s.Title()),
		}.Run(ctx)
		if _, ok := errors.AsType[*sim.StoppedError](err); err != nil && !ok {
			return nil, err
		}
		r.Strategies = append(r.Strategies, ContentionStrategyResult{s.Title(), s, points, err})
		if err != nil && ctx.Err() != nil {
			return r, err
		}
	}
	return r, nil
}

// Calls returns the times of the write calls in one run with the most clients, in order.
func (c Contention) Calls(ctx context.Context, s Strategy) ([]time.Duration, error) {
	r, err := sim.OCC{
		Policy: s.Policy, Placement: s.Placement, Clients: c.Clients, Network: c.Network, Seed: c.Seed, Horizon: c.Horizon,
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	return r.Times, nil
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
