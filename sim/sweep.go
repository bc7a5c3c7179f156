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
	Runs       int           `json:"runs"` // of each point
	Network    Network       `json:"network"`
	Seed       uint64        `json:"seed"`
	Horizon    time.Duration `json:"horizon"` // of each run

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the work done in millionths.
	Progress func(done, total int64) `json:"-"`
}

// SweepPoint is the sample for one strategy and one number of clients.
type SweepPoint struct {
	Strategy string `json:"strategy"`
	OCCSample
}

// Run computes the points: all strategies for the first number of clients, then for the next. Run i of a
// point, from 0, is the OCC with the seed Seed+i.
//
// It returns a *FieldError and no result for a Sweep that cannot be run, and a *StoppedError with the finished points
// when ctx ends or a run has writes after the Horizon.
func (s Sweep) Run(ctx context.Context) ([]SweepPoint, error) {
	c := checker{model: "Sweep"}
	c.count("Runs", s.Runs, 1, math.MaxInt32)
	for i, n := range s.Clients {
		c.count(fmt.Sprintf("Clients[%d]", i), n, 1, maxClients)
	}
	c.strategies(s.Strategies)
	c.network(s.Network)
	c.notNegative("Horizon", s.Horizon)
	if c.err != nil {
		return nil, c.err
	}
	var all []OCC
	var points []SweepPoint
	for _, n := range s.Clients {
		for _, strategy := range s.Strategies {
			all = append(all, OCC{strategy.Policy, strategy.Placement, strategy.Processes, n, s.Network, s.Seed, s.Horizon, nil})
			points = append(points, SweepPoint{Strategy: strategy.Name})
		}
	}
	samples, err := sampleAll(ctx, all, s.Runs, s.Progress)
	if err != nil {
		samples = samples[:len(samples)-1]
	}
	points = points[:len(samples)]
	for i, sample := range samples {
		points[i].OCCSample = sample
	}
	return points, err
}
