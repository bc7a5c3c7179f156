package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// Outage is what the charts of a server that comes back show.
type Outage struct {
	Down       Seconds          `json:"down"`
	DownLabel  string           `json:"downLabel"`
	Clients    int              `json:"clients"`
	Strategies []OutageStrategy `json:"strategies"`
}

// OutageStrategy is one of them.
type OutageStrategy struct {
	Title    string       `json:"title"`
	Note     string       `json:"note,omitempty"`
	Summary  string       `json:"summary"`
	Axis     Axis         `json:"axis"`
	Bin      Seconds      `json:"bin"`
	Label    string       `json:"binLabel"`
	Attempts []int64      `json:"attempts"`
	Served   []int64      `json:"served"`
	Shown    []HerdFigure `json:"figures"`
}

const (
	outageBins    = 150
	outageHorizon = 24 * time.Hour
	outageWork    = 2 * time.Second // for one strategy
)

// ComputeOutage computes the outage. Its error is that of ctx; a strategy that takes too much work shows what was computed.
func ComputeOutage(ctx context.Context, s State) (*Outage, error) {
	o := &Outage{Down: Seconds(s.Down), DownLabel: axis.Time(s.Down), Clients: s.Affected, Strategies: make([]OutageStrategy, len(s.Strategies))}
	results := make([]*sim.OutageResult, len(s.Strategies))
	var longest time.Duration
	for i, x := range s.Strategies {
		limit, limited := x.Limit()
		o.Strategies[i].Title = x.Title()
		if limited && limit == 0 {
			o.Strategies[i].Note = "limit=0 allows no retry."
			continue
		}
		part, cancel := context.WithTimeout(ctx, outageWork)
		r, err := sim.Outage{
			Backoff: x.Policy.Backoff(), Placement: x.Placement, Clients: s.Affected, Down: s.Down, Capacity: s.Capacity, Timeout: s.Timeout,
			Limit: limit, Seed: s.Seed, Horizon: s.Down + outageHorizon,
		}.Run(part)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, sim.ErrStuck):
			o.Strategies[i].Note = "The clients retry without any time going by: give the policy a wait, or a failure a time."
		case errors.Is(err, sim.ErrHorizon):
			o.Strategies[i].Note = fmt.Sprintf("After %s not all are served.", axis.Time(s.Down+outageHorizon))
		case err != nil:
			o.Strategies[i].Note = "It takes more attempts than are computed here: " + err.Error() + "."
		}
		if r == nil {
			continue
		}
		results[i] = r
		longest = max(longest, lastAt(r))
	}
	for i, r := range results {
		if r == nil {
			continue
		}
		end := longest
		if s.Own {
			end = lastAt(r)
		}
		o.Strategies[i].draw(r, end)
	}
	return o, nil
}

// lastAt is when the last attempt was, to the bin.
func lastAt(r *sim.OutageResult) time.Duration {
	return r.Traffic.Bin * time.Duration(len(r.Traffic.Attempts))
}

func (x *OutageStrategy) draw(r *sim.OutageResult, end time.Duration) {
	x.Axis = newAxis(end)
	// Bins are those of the simulation put together, as many as make a clock's step.
	bin := max(axis.Step(end, outageBins), r.Traffic.Bin)
	bin -= bin % r.Traffic.Bin
	x.Bin, x.Label = Seconds(bin), axis.Time(bin)
	n := int(bin / r.Traffic.Bin)
	together := func(counts []int64) []int64 {
		var out []int64
		for i, c := range counts {
			if i%n == 0 {
				out = append(out, 0)
			}
			out[len(out)-1] += c
		}
		return out
	}
	x.Attempts, x.Served = together(r.Traffic.Attempts), together(r.Traffic.Served)
	served := axis.Time(r.End)
	x.Summary = "all served after " + served
	if r.Served < r.Clients {
		served = fmt.Sprintf("%d of %d", r.Served, r.Clients)
		x.Summary = served + " served"
	}
	x.Shown = []HerdFigure{
		{"all served after", served, r.End.Seconds(), "from the beginning of the outage"},
		{"attempts per client", axis.Number(r.PerClient.Mean), r.PerClient.Mean, "on the mean"},
		{"failures after", axis.Number(float64(r.FailuresAfter)), float64(r.FailuresAfter), "attempts that failed although the server was back: it was busy"},
		{"peak after", axis.Number(float64(r.PeakAfter)), float64(r.PeakAfter), "the most attempts in one " + axis.Time(r.Traffic.Bin) + " once the server was back"},
	}
}
