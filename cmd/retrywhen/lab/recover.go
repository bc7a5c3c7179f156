package lab

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Recover is what the charts of a server that stands still for a moment show: does it recover?
type Recover struct {
	Sentence   string            `json:"sentence"`
	Load       int               `json:"load"`
	Capacity   int               `json:"capacity"`
	Timeout    string            `json:"timeout"`
	From       Seconds           `json:"from"` // of the standstill
	To         Seconds           `json:"to"`
	Stall      string            `json:"stall"`
	Axis       Axis              `json:"axis"`
	Bin        Seconds           `json:"bin"`
	Label      string            `json:"binLabel"`
	Strategies []RecoverStrategy `json:"strategies"`
}

// RecoverStrategy is one of them. Its counts are of one second.
type RecoverStrategy struct {
	Title   string    `json:"title"`
	Note    string    `json:"note,omitempty"`
	Formula string    `json:"formula"`
	Verdict string    `json:"verdict"`
	Well    bool      `json:"well"`
	Offered []float64 `json:"offered"` // requests that reach the server
	Healthy []float64 `json:"healthy"` // operations that came then and succeed in time
	Figures []Figure  `json:"figures"`
}

// recoverWork is the most real time for one strategy.
const recoverWork = 2 * time.Second

func (s State) overload() model.Overload {
	o := model.DefaultOverload()
	o.Strategies, o.Timeout, o.Work, o.Progress = s.Strategies, s.Patience, recoverWork, yield
	o.Load, o.Service.Mean, o.Seed = float64(s.Load), time.Second/time.Duration(s.Rate), s.Seed
	o.Trigger.For, o.Horizon = s.Stall, s.Watch
	o.Bin = max(model.ChartBin(s.Watch), time.Second)
	return o
}

// ComputeRecover computes whether the server recovers. Its error is that of ctx.
func ComputeRecover(ctx context.Context, s State) (*Recover, error) {
	o := s.overload()
	r, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	out := &Recover{
		Load: s.Load, Capacity: s.Rate, Timeout: axis.Time(s.Patience), Stall: axis.Time(s.Stall),
		From: Seconds(o.Trigger.At), To: Seconds(o.Trigger.At + o.Trigger.For),
		Axis: newAxis(s.Watch), Bin: Seconds(o.Bin), Label: axis.Time(o.Bin), Strategies: make([]RecoverStrategy, len(r.Strategies)),
	}
	for i, x := range r.Strategies {
		y := RecoverStrategy{Title: x.Name, Formula: InWords(x.Policy), Verdict: x.Verdict()}
		if x.Err != nil {
			y.Note = "It takes more requests than are computed here: " + x.Note + "."
		}
		if x.Result != nil {
			y.draw(x.Result, s)
		}
		out.Strategies[i] = y
	}
	out.Sentence = out.sentence()
	return out, nil
}

func (y *RecoverStrategy) draw(r *sim.OverloadResult, s State) {
	y.Well = r.Recovered
	f := r.Flow
	perSecond := func(counts []int64) []float64 {
		rates := make([]float64, len(counts))
		for i, c := range counts {
			rates[i] = math.Round(10*float64(c)/f.Bin.Seconds()) / 10
		}
		return rates
	}
	y.Offered, y.Healthy = perSecond(f.Offered), perSecond(f.Healthy)
	share := func(some, of int64) float64 { return float64(some) / float64(max(of, 1)) }
	well, vain := share(r.Succeeded, r.Operations), share(r.Wasted, r.Wasted+r.Served)
	y.Figures = []Figure{
		{"well again", strings.TrimPrefix(y.Verdict, "back "), r.RecoveredAfter.Seconds(), "from the end of the standstill: from when on 95 % of the operations succeed within " + axis.Time(s.Patience)},
		{"requests per operation", axis.Number(r.Amplification), r.Amplification, "that reach the server, on average"},
		{"operations that succeed", percent(well), well, "of all that came; at the end some are still on their way"},
		{"work in vain", percent(vain), vain, "the share of the server's work that was for callers who had left"},
		{"99th percentile", axis.Time(r.Latency.P99), r.Latency.P99.Seconds(), "the time that 99 % of the operations that succeed stay under"},
	}
}

// sentence says which strategies recover, and which do not.
func (r *Recover) sentence() string {
	var back, never []string
	for _, x := range r.Strategies {
		switch {
		case len(x.Figures) == 0:
		case x.Well:
			back = append(back, strings.TrimPrefix(x.Verdict, "back ")+" under "+quoted(x.Title))
		default:
			never = append(never, quoted(x.Title))
		}
	}
	began := fmt.Sprintf("The server stands still for %s, at %.0f %% load. ", r.Stall, 100*float64(r.Load)/float64(r.Capacity))
	switch {
	case len(never) == 0:
		return began + "It is well again " + list(back) + "."
	case len(back) == 0:
		return began + "It never recovers, under " + list(never) + "."
	default:
		return began + "Under " + list(never) + " it never recovers; it is well again " + list(back) + "."
	}
}
