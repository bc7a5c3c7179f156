package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
)

// outagePage holds the numbers of the charts of a server that comes back.
type outagePage struct {
	Down       Seconds              `json:"down"`
	Clients    int                  `json:"clients"`
	Capacity   int                  `json:"capacity"`
	Best       Seconds              `json:"best"` // when all could have been served, since the beginning
	Top        float64              `json:"top"`  // of the axis of all charts: higher bars are cut off
	Sentence   string               `json:"sentence"`
	Strategies []outagePageStrategy `json:"strategies"`
}

// outagePageStrategy is the result of one strategy.
type outagePageStrategy struct {
	Title    string    `json:"title"`
	Note     string    `json:"note,omitempty"`
	Formula  string    `json:"formula"`
	Summary  string    `json:"summary"`
	Grade    Grade     `json:"grade,omitempty"`
	End      Seconds   `json:"end,omitempty"` // when, since the beginning
	Axis     Axis      `json:"axis"`
	Bin      Seconds   `json:"bin"`
	Label    string    `json:"binLabel"`
	Attempts []float64 `json:"attempts"` // per second
	Served   []float64 `json:"served"`   // per second
	Figures  []Term    `json:"figures"`
}

// Page returns the numbers of the charts.
func (r *OutageResult) Page() any {
	o := &outagePage{Down: Seconds(r.Down), Clients: r.of.Clients, Capacity: r.of.Capacity, Top: r.top(), Strategies: make([]outagePageStrategy, len(r.Strategies))}
	for i := range r.Strategies {
		x := &r.Strategies[i]
		out := &o.Strategies[i]
		out.Title, out.Formula, out.Note = x.Name, InWords(x.Policy), x.Note
		out.draw(x, r.Down, r.End())
		o.Best = Seconds(x.Result.Best)
	}
	o.sentence(r)
	return o
}

// sentence sets the sentence that compares the soonest and the latest end with the best possible one.
func (o *outagePage) sentence(r *OutageResult) {
	served := slices.DeleteFunc(slices.Clone(r.Strategies), func(x OutageStrategyResult) bool { return x.Result.Served < x.Result.Clients })
	if len(served) == 0 {
		return
	}
	byEnd := func(a, b OutageStrategyResult) int { return cmp.Compare(a.Result.End, b.Result.End) }
	soonest, latest := slices.MinFunc(served, byEnd), slices.MaxFunc(served, byEnd)
	o.Sentence = fmt.Sprintf("%s for a server that is down for %s. At best all are served %s after its return.",
		count(o.Clients, "client waits", "clients wait"), axis.Time(r.Down), axis.Time(soonest.Best))
	takes := func(x OutageStrategyResult) {
		o.Sentence += fmt.Sprintf(" %s takes %s, and %s.", quoted(x.Name), axis.Time(x.After), count(int(x.Result.FailuresAfter), "attempt fails", "attempts fail"))
	}
	if takes(soonest); latest.Name != soonest.Name {
		takes(latest)
	}
}

// ratio returns the time until all are served, in times of the best possible one.
func (x *OutageStrategyResult) ratio() float64 {
	switch {
	case x.Result.Served < x.Result.Clients:
		return math.Inf(1)
	case x.After == x.Best:
		return 1
	}
	return x.After.Seconds() / x.Best.Seconds()
}

// grade returns well up to 1.5 times the best possible time, late up to 3 times, and bad.
func (x *OutageStrategyResult) grade() Grade {
	switch ratio := x.ratio(); {
	case ratio <= 1.5:
		return Well
	case ratio <= 3:
		return Late
	}
	return Bad
}

func (x *outagePageStrategy) draw(of *OutageStrategyResult, down, end time.Duration) {
	bin, attempts, served := of.traffic(end)
	x.Axis, x.Bin, x.Label, x.Attempts, x.Served = newAxisFrom(down, end), Seconds(bin), axis.Time(bin), rates(attempts, bin), rates(served, bin)
	x.Summary = of.summary()
	x.Grade = of.grade()
	if r := of.Result; r.Served == r.Clients {
		x.End = Seconds(r.End)
	}
	if ratio := of.ratio(); ratio > 1 && !math.IsInf(ratio, 0) {
		x.Summary += fmt.Sprintf(", %.1f × the best", ratio)
	}
	x.Figures = of.figures()
}

// figures returns the figures of the comparison. The peaks are of a second, also where the Traffic has longer bins.
func (x *OutageStrategyResult) figures() []Term {
	r := x.Result
	return []Term{
		{"attempts", axis.Number(r.PerClient.Mean), r.PerClient.Mean, "per client, on average"},
		{"p99", strconv.FormatInt(r.PerClient.P99, 10), float64(r.PerClient.P99), "the 99th percentile of the attempts"},
		{"peak", Grouped(r.Peak), float64(r.Peak), "the most attempts in 1s"},
		{"peak after", Grouped(r.PeakAfter), float64(r.PeakAfter), "the same since the server's return"},
		{"refusals", Grouped(r.FailuresAfter), float64(r.FailuresAfter), "attempts that fail after the server's return, because it is busy"},
		{"given up", Grouped(r.GivenUp), float64(r.GivenUp), "how often clients gave up"},
		{"served after", x.served(), x.After.Seconds(), "the time from the server's return until all are served"},
	}
}
