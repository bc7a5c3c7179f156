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

// Recover holds the numbers of the charts of a server that stands still for a time: does it recover?
type Recover struct {
	Sentence   string            `json:"sentence"`
	Load       int               `json:"load"`
	Capacity   int               `json:"capacity"`
	Timeout    string            `json:"timeout"`
	From       Seconds           `json:"from"` // the beginning of the standstill
	To         Seconds           `json:"to"`
	Stall      string            `json:"stall"`
	Axis       Axis              `json:"axis"`
	Bin        Seconds           `json:"bin"`
	Label      string            `json:"binLabel"`
	Strategies []RecoverStrategy `json:"strategies"`
}

// RecoverStrategy is the result of one strategy. Its counts are per second.
type RecoverStrategy struct {
	Title   string    `json:"title"`
	Note    string    `json:"note,omitempty"`
	Formula string    `json:"formula"`
	Verdict string    `json:"verdict"`
	Well    bool      `json:"well"`
	Offered []float64 `json:"offered"` // requests that reach the server
	Healthy []float64 `json:"healthy"` // operations that came then and succeed within the attempt timeout
	Figures []Figure  `json:"figures"`
}

// recoverWork is the maximum real time for one strategy.
const recoverWork = 2 * time.Second

func (s State) overload() model.Overload {
	o := model.DefaultOverload()
	o.Strategies, o.Timeout, o.Work, o.Progress = s.Strategies, s.Patience, recoverWork, yield
	o.Load, o.Service.Mean, o.Seed = float64(s.Load), time.Second/time.Duration(s.Rate), s.Seed
	o.Trigger.For, o.Horizon = s.Stall, s.Watch
	o.Bin = max(model.ChartBin(s.Watch), time.Second)
	return o
}

// ComputeRecover computes whether the server recovers. It fails when ctx ends.
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
			y.Note = "It needs more requests than the page computes: " + x.Note + "."
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
	y.Well = r.Recovery.Verdict == sim.Recovered
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
		{"recovery", strings.TrimPrefix(y.Verdict, "recovers "), r.Recovery.After.Seconds(), "the time from the end of the standstill until 95 % of the operations succeed within " + axis.Time(s.Patience)},
		{"requests per operation", axis.Number(r.Amplification), r.Amplification, "the requests that reach the server, on average"},
		{"success", percent(well), well, "the share of the operations that succeed; some are still running at the end"},
		{"wasted work", percent(vain), vain, "the share of the server's work that was for callers that had left"},
		{"99th percentile", axis.Time(r.Latency.P99), r.Latency.P99.Seconds(), "the latency that 99 % of the operations that succeed do not exceed"},
	}
}

// sentence returns which strategies recover, and which do not.
func (r *Recover) sentence() string {
	var back, never []string
	for _, x := range r.Strategies {
		switch {
		case len(x.Figures) == 0:
		case x.Well:
			back = append(back, strings.TrimPrefix(x.Verdict, "recovers ")+" under "+quoted(x.Title))
		default:
			never = append(never, "it "+x.Verdict+" under "+quoted(x.Title))
		}
	}
	began := fmt.Sprintf("The load is %.0f %% of the server's capacity. The server stands still for %s. ", 100*float64(r.Load)/float64(r.Capacity), r.Stall)
	switch {
	case len(never) == 0:
		return began + "It recovers " + list(back) + "."
	case len(back) == 0:
		return began + sentence(list(never))
	default:
		return began + sentence(list(never)) + " It recovers " + list(back) + "."
	}
}

// sentence returns the text with a capital letter and a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
