package report

import (
	"fmt"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// overloadPage holds the numbers of the charts of a server that stalls: does it recover?
type overloadPage struct {
	Sentence   string                 `json:"sentence"`
	Setting    string                 `json:"setting"`
	Load       float64                `json:"load"`
	Capacity   float64                `json:"capacity"`
	Healthy    string                 `json:"healthy"` // within which time healthy operations succeed
	From       Seconds                `json:"from"`    // the beginning of the stall
	To         Seconds                `json:"to"`
	Axis       Axis                   `json:"axis"`
	Bin        Seconds                `json:"bin"`
	Label      string                 `json:"binLabel"`
	Strategies []overloadPageStrategy `json:"strategies"`
}

// overloadPageStrategy is the result of one strategy. Its counts are per second.
type overloadPageStrategy struct {
	Title     string    `json:"title"`
	Note      string    `json:"note,omitempty"`
	Formula   string    `json:"formula"`
	Verdict   string    `json:"verdict"`
	Grade     Grade     `json:"grade"`
	Recovered Seconds   `json:"recovered,omitempty"` // when, since the beginning
	Offered   []float64 `json:"offered"`             // requests that reach the server
	Healthy   []float64 `json:"healthy"`             // operations that came then and are healthy
	Figures   []Term    `json:"figures"`
}

// Page returns the numbers of the charts.
func (r *OverloadResult) Page() any {
	o := &r.of
	p := &overloadPage{
		Load: o.Load, Capacity: o.capacity(), Healthy: r.healthy(),
		From: Seconds(o.Trigger.At), To: Seconds(r.back()),
		Axis: newAxis(r.Horizon), Bin: Seconds(o.Bin), Label: axis.Time(o.Bin), Strategies: make([]overloadPageStrategy, len(r.Strategies)),
	}
	for i := range r.Strategies {
		p.Strategies[i] = r.Strategies[i].page(p.Healthy)
		if at, ok := r.Strategies[i].recovered(r.back()); ok {
			p.Strategies[i].Recovered = Seconds(at)
		}
	}
	p.Sentence = r.sentence()
	p.Setting = fmt.Sprintf("The load is %s of the server's capacity. The server stands still for %s.", percent(r.Load/r.of.capacity()), axis.Time(r.Trigger.For))
	return p
}

// healthy returns the time within which healthy operations succeed, or a text if it differs.
func (r *OverloadResult) healthy() string {
	for _, x := range r.Strategies {
		if x.Result.HealthyWithin != r.Strategies[0].Result.HealthyWithin {
			return "their attempt timeout"
		}
	}
	if len(r.Strategies) == 0 {
		return "-"
	}
	return axis.Time(r.Strategies[0].Result.HealthyWithin)
}

func (x *OverloadStrategyResult) page(within string) overloadPageStrategy {
	flow := x.Result.Flow
	return overloadPageStrategy{
		Title: x.Name, Formula: InWords(x.Policy), Note: x.Note, Verdict: x.Verdict(), Grade: x.Grade(),
		Offered: rates(flow.Offered, flow.Bin), Healthy: rates(flow.Healthy, flow.Bin), Figures: x.figures(within),
	}
}

// figures returns the figures of the comparison; within is the time within which healthy operations are answered.
func (x *OverloadStrategyResult) figures(within string) []Term {
	r := x.Result
	runs, after := x.Recovery()
	share := func(name string, some, of int64, help string) Term {
		part := float64(some) / float64(max(of, 1))
		return Term{name, percent(part), part, help}
	}
	return []Term{
		{"recovers in", runs, 0, "the number of runs that recover within " + axis.Time(sim.Soon) + " of the stall's end; the other figures are of the median run"},
		{"after", after, 0, "the median time from the stall's end until 95 % of the operations are answered within " + within},
		{"requests", axis.Number(r.Amplification), r.Amplification, "per operation, at the server"},
		share("succeeded", r.Succeeded, r.Operations, "operations; some are still running at the end"),
		share("wasted", r.Wasted, r.Wasted+r.Served+r.Failed, "work for callers that had left"),
		{"median", axis.Time(r.Latency.P50), r.Latency.P50.Seconds(), "latency of the operations that succeed"},
		{"p99", axis.Time(r.Latency.P99), r.Latency.P99.Seconds(), "the 99th percentile of it"},
	}
}

// sentence returns which strategies keep the server down.
func (r *OverloadResult) sentence() string {
	var down, up, stopped []string
	for i := range r.Strategies {
		x := &r.Strategies[i]
		switch name := quoted(x.Name); {
		case x.Runs == nil:
			stopped = append(stopped, name)
		case x.Grade() == Well:
			up = append(up, name)
		default:
			down = append(down, name)
		}
	}
	verb := func(names []string, one, many string) string {
		if len(names) == 1 {
			return one
		}
		return many
	}
	text := ""
	switch {
	case len(stopped) > 0:
		text = "The time was over: " + list(stopped) + verb(stopped, " is", " are") + " not finished."
	case len(down) == 0:
		text = "The server recovers under " + list(up) + "."
	case len(up) == 0:
		text = list(down) + verb(down, " keeps", " keep") + " the server down."
	default:
		text = list(down) + verb(down, " keeps", " keep") + " the server down; " + list(up) + verb(up, " does not.", " do not.")
	}
	return text
}
