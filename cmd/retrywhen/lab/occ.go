package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Contention holds the numbers of the charts of optimistic concurrency control.
type Contention struct {
	Runs       int                  `json:"runs"`
	Clients    int                  `json:"clients"`
	Strategies []ContentionStrategy `json:"strategies"`
	CallTicks  []axis.Tick          `json:"callTicks"`
	TimeTicks  []axis.Tick          `json:"timeTicks"` // of a logarithmic axis
	Sentence   string               `json:"sentence"`  // about the calls
	Time       string               `json:"timeSentence"`
	Over       string               `json:"overSentence"` // about the calls over time
}

// ContentionStrategy is a line in each of these charts.
type ContentionStrategy struct {
	Title   string            `json:"title"`
	Note    string            `json:"note,omitempty"`
	Formula string            `json:"formula"`
	Points  []ContentionPoint `json:"points"`

	// The number of write calls in each Bin of one run with the most clients.
	Axis     Axis    `json:"axis"`
	Bin      Seconds `json:"bin"`
	BinLabel string  `json:"binLabel"`
	Calls    []int64 `json:"calls"`
	Total    int64   `json:"total"`
}

// ContentionPoint holds the mean over the runs, and their minimum and maximum.
type ContentionPoint struct {
	Clients    int     `json:"clients"`
	Calls      float64 `json:"calls"`
	Time       Seconds `json:"time"`
	CallsLeast int64   `json:"callsLeast"`
	CallsMost  int64   `json:"callsMost"`
	TimeLeast  Seconds `json:"timeLeast"`
	TimeMost   Seconds `json:"timeMost"`
	Label      string  `json:"label"`
}

const (
	contentionPoints  = 10
	contentionHorizon = 30 * 24 * time.Hour
)

// ComputeContention computes the contention. It fails when ctx ends.
func ComputeContention(ctx context.Context, s State) (*Contention, error) {
	m := model.Contention{
		Strategies: s.Strategies, Clients: s.Clients, Points: contentionPoints, Runs: s.Runs, Network: sim.DefaultNetwork,
		Seed: s.Seed, Horizon: contentionHorizon, Progress: yield,
	}
	r, err := m.Run(ctx)
	if err != nil {
		return nil, err
	}
	c := &Contention{Runs: s.Runs, Clients: s.Clients, Strategies: make([]ContentionStrategy, len(s.Strategies))}
	var calls float64
	var least, most time.Duration
	for i, x := range r.Strategies {
		out := ContentionStrategy{Title: x.Name, Formula: InWords(x.Policy), Points: []ContentionPoint{}}
		if x.Err != nil {
			out.Note = fmt.Sprintf("With more clients it takes more than %s.", axis.Time(contentionHorizon))
		}
		for _, p := range x.Points {
			out.Points = append(out.Points, ContentionPoint{
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
	return c, c.over(ctx, m, s.Own)
}

// sentences sets the sentences that compare the strategies for the most clients.
func (c *Contention) sentences(r *model.ContentionResult) {
	var fewest, most, quickest, slowest *model.ContentionStrategyResult
	last := func(x *model.ContentionStrategyResult) sim.SweepPoint { return x.Points[len(x.Points)-1] }
	for i := range r.Strategies {
		x := &r.Strategies[i]
		if x.Err != nil || len(x.Points) == 0 {
			continue
		}
		if fewest == nil {
			fewest, most, quickest, slowest = x, x, x, x
		}
		if last(x).Calls.Mean < last(fewest).Calls.Mean {
			fewest = x
		}
		if last(x).Calls.Mean > last(most).Calls.Mean {
			most = x
		}
		if last(x).End.Mean < last(quickest).End.Mean {
			quickest = x
		}
		if last(x).End.Mean > last(slowest).End.Mean {
			slowest = x
		}
	}
	if fewest == nil {
		return
	}
	c.Sentence = fmt.Sprintf("%s %s under %s", count(c.Clients, "client needs", "clients need"), calls(last(fewest).Calls.Mean), quoted(fewest.Name))
	c.Time = fmt.Sprintf("All have written after %s under %s", axis.Time(last(quickest).End.Mean), quoted(quickest.Name))
	if most != fewest {
		c.Sentence += fmt.Sprintf(", and %s under %s", calls(last(most).Calls.Mean), quoted(most.Name))
	}
	if slowest != quickest {
		c.Time += fmt.Sprintf(", and after %s under %s", axis.Time(last(slowest).End.Mean), quoted(slowest.Name))
	}
	c.Sentence += "."
	c.Time += "."
}

func calls(x float64) string { return count(int(math.Round(x)), "call", "calls") }

// over computes the times of the calls of one run: figures 5 and 7 of "Exponential Backoff And Jitter".
func (c *Contention) over(ctx context.Context, m model.Contention, own bool) error {
	times := make([][]time.Duration, len(m.Strategies))
	var end time.Duration
	for i, s := range m.Strategies {
		var err error
		if times[i], err = m.Calls(ctx, s); err != nil && ctx.Err() != nil {
			return err
		}
		if n := len(times[i]); n > 0 {
			end = max(end, times[i][n-1])
		}
	}
	var busiest, calmest int64
	var loud, quiet *ContentionStrategy
	for i := range times {
		x := &c.Strategies[i]
		x.Total = int64(len(times[i]))
		if x.Total == 0 {
			continue
		}
		last := times[i][x.Total-1]
		if own {
			end = last
		}
		bin := model.ChartBin(end)
		x.Axis, x.Bin, x.BinLabel, x.Calls = newAxis(end), Seconds(bin), axis.Time(bin), counted(times[i], bin)
		peak := slices.Max(counted(times[i], callsWindow))
		if peak > busiest {
			busiest, loud = peak, x
		}
		if quiet == nil || peak < calmest {
			calmest, quiet = peak, x
		}
	}
	switch {
	case loud == nil:
	case loud == quiet:
		c.Over = fmt.Sprintf("The busiest %s of one run has %s.", axis.Time(callsWindow), count(int(busiest), "call", "calls"))
	default:
		c.Over = fmt.Sprintf("The busiest %s of one run has %s under %s, and %s under %s.",
			axis.Time(callsWindow), count(int(busiest), "call", "calls"), quoted(loud.Title), grouped(calmest), quoted(quiet.Title))
	}
	return nil
}

// callsWindow is the window of the busiest moment.
const callsWindow = 100 * time.Millisecond

// counted counts sorted times in bins.
func counted(times []time.Duration, bin time.Duration) []int64 {
	counts := make([]int64, times[len(times)-1]/bin+1)
	for _, at := range times {
		counts[at/bin]++
	}
	return counts
}
