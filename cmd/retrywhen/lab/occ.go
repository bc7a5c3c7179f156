package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Contention is what the charts of optimistic concurrency control show.
type Contention struct {
	Runs       int                  `json:"runs"`
	Clients    int                  `json:"clients"`
	Strategies []ContentionStrategy `json:"strategies"`
	CallTicks  []axis.Tick          `json:"callTicks"`
	TimeTicks  []axis.Tick          `json:"timeTicks"` // of a logarithmic axis
}

// ContentionStrategy is one line in each of them.
type ContentionStrategy struct {
	Title  string            `json:"title"`
	Note   string            `json:"note,omitempty"`
	Points []ContentionPoint `json:"points"`
}

// ContentionPoint is the mean over the runs.
type ContentionPoint struct {
	Clients int     `json:"clients"`
	Calls   float64 `json:"calls"`
	Time    Seconds `json:"time"`
	Label   string  `json:"label"`
}

const (
	contentionPoints  = 10
	contentionHorizon = 30 * 24 * time.Hour
)

// ComputeContention computes the contention. Its error is that of ctx.
func ComputeContention(ctx context.Context, s State) (*Contention, error) {
	r, err := model.Contention{
		Strategies: s.Strategies, Clients: s.Clients, Points: contentionPoints, Runs: s.Runs, Network: sim.DefaultNetwork,
		Seed: s.Seed, Horizon: contentionHorizon,
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	c := &Contention{Runs: s.Runs, Clients: s.Clients, Strategies: make([]ContentionStrategy, len(s.Strategies))}
	var calls float64
	var least, most time.Duration
	for i, x := range r.Strategies {
		out := ContentionStrategy{Title: x.Name, Points: []ContentionPoint{}}
		if x.Err != nil {
			out.Note = fmt.Sprintf("With more clients it takes longer than %s.", axis.Time(contentionHorizon))
		}
		for _, p := range x.Points {
			out.Points = append(out.Points, ContentionPoint{
				p.Clients, p.Calls.Mean, Seconds(p.End.Mean),
				fmt.Sprintf("%s, %d clients: %s calls, %s", x.Name, p.Clients, axis.Number(p.Calls.Mean), axis.Time(p.End.Mean)),
			})
			calls, most = max(calls, p.Calls.Mean), max(most, p.End.Mean)
			if least == 0 || p.End.Mean < least {
				least = p.End.Mean
			}
		}
		c.Strategies[i] = out
	}
	c.CallTicks = axis.Numbers(calls, 5)
	c.TimeTicks = axis.LogTimes(least, most)
	return c, nil
}
