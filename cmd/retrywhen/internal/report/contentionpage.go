package report

import (
	"fmt"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// contentionPage holds the numbers of the charts of optimistic concurrency control.
type contentionPage struct {
	Runs       int                      `json:"runs"`
	Clients    int                      `json:"clients"`
	Message    string                   `json:"message"` // the time of one
	Strategies []contentionPageStrategy `json:"strategies"`
	CallTicks  []axis.Tick              `json:"callTicks"`
	TimeTicks  []axis.Tick              `json:"timeTicks"` // of a logarithmic axis
	Sentence   string                   `json:"sentence"`  // about the calls
	Time       string                   `json:"timeSentence"`
}

// contentionPageStrategy is a line in each of these charts.
type contentionPageStrategy struct {
	Title   string            `json:"title"`
	Note    string            `json:"note,omitempty"`
	Formula string            `json:"formula"`
	Points  []contentionPoint `json:"points"`
}

// contentionPoint holds the mean over the runs, and their minimum and maximum.
type contentionPoint struct {
	Clients    int     `json:"clients"`
	Calls      float64 `json:"calls"`
	Time       Seconds `json:"time"`
	CallsLeast int64   `json:"callsLeast"`
	CallsMost  int64   `json:"callsMost"`
	TimeLeast  Seconds `json:"timeLeast"`
	TimeMost   Seconds `json:"timeMost"`
	Label      string  `json:"label"`
}

// Page returns the numbers of the charts.
func (r *ContentionResult) Page() any {
	c := &contentionPage{Runs: r.Runs, Clients: r.of.Clients, Message: r.of.message(), Strategies: make([]contentionPageStrategy, len(r.Strategies))}
	var calls float64
	var least, most time.Duration
	for i, x := range r.Strategies {
		out := contentionPageStrategy{Title: x.Name, Formula: InWords(x.Policy), Note: x.Note, Points: []contentionPoint{}}
		for _, p := range x.Points {
			out.Points = append(out.Points, contentionPoint{
				p.Clients, p.Calls.Mean, Seconds(p.End.Mean), p.Calls.Least, p.Calls.Most, Seconds(p.End.Least), Seconds(p.End.Most),
				fmt.Sprintf("%s, %s: %s calls, %s", x.Name, count(p.Clients, "client", "clients"), axis.Number(p.Calls.Mean), axis.Time(p.End.Mean)),
			})
			calls, most = max(calls, float64(p.Calls.Most)), max(most, p.End.Most)
			if least == 0 || p.End.Least < least {
				least = p.End.Least
			}
		}
		c.Strategies[i] = out
	}
	c.CallTicks = axis.Numbers(calls, 5)
	c.TimeTicks = axis.LogTimes(least, most)
	c.sentences(r)
	return c
}

// sentences sets the sentences that compare the strategies for the most clients.
func (c *contentionPage) sentences(r *ContentionResult) {
	last := func(x *ContentionStrategyResult) sim.SweepPoint { return x.Points[len(x.Points)-1] }
	by := func(value func(sim.SweepPoint) float64) (least, most *ContentionStrategyResult) {
		return extremes(r.Strategies, func(x *ContentionStrategyResult) (float64, bool) {
			if x.Err != nil || len(x.Points) == 0 {
				return 0, false
			}
			return value(last(x)), true
		})
	}
	fewest, most := by(calls)
	quickest, slowest := by(totalTime)
	if fewest == nil {
		return
	}
	c.Sentence = fmt.Sprintf("%s %s under %s", count(c.Clients, "client needs", "clients need"), callCount(last(fewest).Calls.Mean), quoted(fewest.Name))
	c.Time = fmt.Sprintf("All are done after %s under %s", axis.Time(last(quickest).End.Mean), quoted(quickest.Name))
	if most != fewest {
		c.Sentence += fmt.Sprintf(", and %s under %s", callCount(last(most).Calls.Mean), quoted(most.Name))
	}
	if slowest != quickest {
		c.Time += fmt.Sprintf(", and after %s under %s", axis.Time(last(slowest).End.Mean), quoted(slowest.Name))
	}
	c.Sentence += "."
	c.Time += "."
}

func callCount(x float64) string { return count(int(math.Round(x)), "call", "calls") }
