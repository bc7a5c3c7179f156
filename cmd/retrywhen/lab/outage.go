package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Outage holds the numbers of the charts of a server that comes back.
type Outage struct {
	Down       Seconds          `json:"down"`
	DownLabel  string           `json:"downLabel"`
	Clients    int              `json:"clients"`
	Capacity   int              `json:"capacity"`
	Best       Seconds          `json:"best"` // when all could have been served
	BestLabel  string           `json:"bestLabel"`
	Sentence   string           `json:"sentence"`
	Strategies []OutageStrategy `json:"strategies"`
}

// OutageStrategy is the result of one strategy.
type OutageStrategy struct {
	Title    string   `json:"title"`
	Note     string   `json:"note,omitempty"`
	Formula  string   `json:"formula"`
	Summary  string   `json:"summary"`
	Axis     Axis     `json:"axis"`
	Bin      Seconds  `json:"bin"`
	Label    string   `json:"binLabel"`
	Attempts []int64  `json:"attempts"`
	Served   []int64  `json:"served"`
	Figures  []Figure `json:"figures"`
}

const (
	outageHorizon = 24 * time.Hour
	outageWork    = 2 * time.Second // for one strategy
)

// ComputeOutage computes the outage. It fails when ctx ends. A strategy that takes too much work has its result so far.
func ComputeOutage(ctx context.Context, s State) (*Outage, error) {
	r, err := model.Outage{
		Strategies: s.Strategies, Work: outageWork, Progress: yield,
		Outage: sim.Outage{
			Clients: s.Affected, Down: s.Down, Capacity: s.Capacity, Timeout: s.Timeout, Seed: s.Seed, Horizon: s.Down + outageHorizon,
		},
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	o := &Outage{Down: Seconds(s.Down), DownLabel: axis.Time(s.Down), Clients: s.Affected, Capacity: s.Capacity, Strategies: make([]OutageStrategy, len(r.Strategies))}
	for i, x := range r.Strategies {
		out := &o.Strategies[i]
		out.Title, out.Formula = x.Name, InWords(x.Policy)
		switch {
		case x.Err == nil:
		case errors.Is(x.Err, model.ErrNoRetry):
			out.Note = "limit=0 allows no retry."
		case errors.Is(x.Err, sim.ErrStuck):
			out.Note = "The clients retry endlessly at one instant. Choose a policy that waits, or an attempt timeout."
		case errors.Is(x.Err, sim.ErrHorizon):
			out.Note = fmt.Sprintf("After %s some clients are still not served.", axis.Time(s.Down+outageHorizon))
		default:
			out.Note = "It needs more attempts than the page computes: " + x.Note + "."
		}
		if x.Result == nil {
			continue
		}
		end := r.End()
		if s.Own {
			end = x.End()
		}
		out.draw(&x, end)
		o.Best, o.BestLabel = Seconds(x.Result.Best), axis.Time(x.Result.Best)
	}
	o.sentence(r)
	return o, nil
}

// sentence sets the sentence that compares the soonest and the latest end with the best possible one.
func (o *Outage) sentence(r *model.OutageResult) {
	var soonest, latest *model.OutageStrategyResult
	for i := range r.Strategies {
		x := &r.Strategies[i]
		if x.Result == nil || x.Result.Served < x.Result.Clients {
			continue
		}
		if soonest == nil || x.Result.End < soonest.Result.End {
			soonest = x
		}
		if latest == nil || x.Result.End > latest.Result.End {
			latest = x
		}
	}
	if soonest == nil {
		return
	}
	served := func(x *model.OutageStrategyResult) string {
		return fmt.Sprintf("%s under %s (%s failed after the server's return)", axis.Time(x.Result.End), quoted(x.Name), count(int(x.Result.FailuresAfter), "attempt", "attempts"))
	}
	o.Sentence = fmt.Sprintf("%s for a server that comes back after %s. At best the last one is served after %s. It is served after %s",
		count(o.Clients, "client waits", "clients wait"), o.DownLabel, o.BestLabel, served(soonest))
	if latest != soonest {
		o.Sentence += ", and after " + served(latest)
	}
	o.Sentence += "."
}

func (x *OutageStrategy) draw(of *model.OutageStrategyResult, end time.Duration) {
	r := of.Result
	bin, attempts, served := of.Bars(end)
	x.Axis, x.Bin, x.Label, x.Attempts, x.Served = newAxis(end), Seconds(bin), axis.Time(bin), attempts, served
	after := axis.Time(r.End)
	x.Summary = "all served after " + after
	if r.Served < r.Clients {
		after = fmt.Sprintf("%d of %d", r.Served, r.Clients)
		x.Summary = after + " served"
	}
	x.Figures = []Figure{
		{"all served after", after, r.End.Seconds(), "from the beginning of the outage"},
		{"attempts per client", axis.Number(r.PerClient.Mean), r.PerClient.Mean, "on average"},
		{"failures after", axis.Number(float64(r.FailuresAfter)), float64(r.FailuresAfter), "attempts that failed after the server's return, because it was busy"},
		{"peak after", axis.Number(float64(r.PeakAfter)), float64(r.PeakAfter), "the most attempts in one " + axis.Time(r.Traffic.Bin) + " after the server's return"},
	}
}
