package sim

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Sweep is an OCC for several strategies and numbers of clients: the two figures of "Exponential Backoff And Jitter",
// calls and time against the number of clients.
type Sweep struct {
	Strategies []Strategy    `json:"strategies"`
	Clients    []int         `json:"clients"`
	Runs       int           `json:"runs"` // for each point
	Network    Network       `json:"network"`
	Seed       uint64        `json:"seed"`
	Horizon    time.Duration `json:"horizon"` // of each run

	// Progress, if not nil, is told now and then how many runs are done, of how many, on the goroutine of Run.
	Progress func(done, total int64) `json:"-"`
}

// SweepPoint is the sample of one strategy and number of clients.
type SweepPoint struct {
	Strategy string `json:"strategy"`
	OCCSample
}

// Run computes the points: all strategies for the first number of clients, then for the next. Every point is what
// OCC.Sample gives for it with the Sweep's Seed.
//
// Its errors are a *FieldError, with no result, for a Sweep that cannot be run, and a *StoppedError with the finished
// points when ctx ended or a run had writes after the Horizon.
func (s Sweep) Run(ctx context.Context) ([]SweepPoint, error) {
	c := checker{model: "Sweep"}
	c.count("Runs", s.Runs, 1, math.MaxInt32)
	for i, n := range s.Clients {
		c.count(fmt.Sprintf("Clients[%d]", i), n, 1, maxClients)
	}
	for i, strategy := range s.Strategies {
		c.placement(fmt.Sprintf("Strategies[%d].Placement", i), strategy.Placement)
	}
	c.network(s.Network)
	c.notNegative("Horizon", s.Horizon)
	if c.err != nil {
		return nil, c.err
	}
	total := int64(len(s.Clients)) * int64(len(s.Strategies)) * int64(s.Runs)
	p := newPace(ctx, s.Progress, total)
	var points []SweepPoint
	for _, n := range s.Clients {
		for _, strategy := range s.Strategies {
			r := newRow(OCC{strategy.Backoff, strategy.Placement, n, s.Network, s.Seed, s.Horizon, nil})
			sample, err := r.sample(s.Runs, &p)
			if err != nil {
				cause := err.(*StoppedError).Cause
				return points, &StoppedError{"Sweep", cause, r.now, p.done, total, "runs"}
			}
			points = append(points, SweepPoint{strategy.Name, sample})
		}
	}
	p.end()
	return points, nil
}
