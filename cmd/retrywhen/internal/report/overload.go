package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

// Overload is a sim.Overload under each of the strategies.
type Overload struct {
	Strategies   []Strategy
	sim.Overload               // its Layers and Progress are ignored
	Timeout      time.Duration // of attempts whose policy has no AttemptTimeout; 0 is none
	Runs         int           // how many runs say how often the server recovers; 0 is one
	Work         time.Duration // the maximum real time for the runs of one strategy; 0 is no limit
	Progress     Progress
}

// OverloadResult is the result of an Overload.
type OverloadResult struct {
	Load       float64                  `json:"load"`
	Trigger    sim.Trigger              `json:"trigger"`
	Horizon    time.Duration            `json:"horizon"` // of the charts
	Strategies []OverloadStrategyResult `json:"strategies"`
	of         Overload
	compared
}

// OverloadStrategyResult is the result of one strategy.
type OverloadStrategyResult struct {
	Name   string              `json:"name"`
	Policy Strategy            `json:"policy"`
	Note   string              `json:"note,omitempty"` // the text of Err
	Result *sim.OverloadResult `json:"result"`         // of the median run
	Runs   *sim.BoundaryPoint  `json:"runs,omitempty"` // nil if they were stopped
	Err    error               `json:"-"`              // why something is missing: a *sim.StoppedError
}

// DefaultOverload returns the default of the command and the page: a server of 100 requests a second under a load of 80
// a second, a standstill of 5 s, and an attempt timeout of one second.
func DefaultOverload() Overload {
	const policy = "exponential base=100ms factor=2 cap=10s jitter=full "
	return Overload{
		Strategies: MustParse("3 retries: "+policy+"limit=3", "3 retries and a budget: "+policy+"limit=3 budget=10,1,0.1", "no retry: "+policy+"limit=0"),
		Timeout:    time.Second, Runs: 10,
		Overload: sim.Overload{
			Load: 80, Service: sim.Service{Mean: 10 * time.Millisecond},
			Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second},
		},
	}
}

// calm is the least time between the stall's end and the end of an Overload.
const calm = 30 * time.Second

// Run computes the overload: the runs of each strategy, and then the median one again, for the other figures and the
// charts. Without a Horizon these end at 1.5 times the longest recovery, at least after a minute. It returns a
// *sim.FieldError and no result for an invalid Overload, and a *sim.StoppedError with the result so far when ctx ends.
func (o Overload) Run(ctx context.Context) (*OverloadResult, error) {
	o.Runs = max(o.Runs, 1)
	r := &OverloadResult{compared: compareTimed(o.Strategies, o.Timeout), of: o, Load: o.Load, Trigger: o.Trigger, Horizon: o.Horizon, Strategies: []OverloadStrategyResult{}}
	var longest time.Duration
	for _, s := range o.Strategies {
		x := OverloadStrategyResult{Name: s.Title(), Policy: s}
		var many *sim.BoundaryResult
		many, x.Err = limited(ctx, o.Work, o.runs(s, x.Name).Run)
		if many == nil {
			return nil, x.Err
		}
		if len(many.Points) > 0 {
			x.Runs = &many.Points[0]
			longest = max(longest, x.Runs.After.Most)
		}
		r.Strategies = append(r.Strategies, x)
	}
	if stalls := r.back(); o.Horizon == 0 {
		r.Horizon = max(3*(stalls+longest)/2, stalls+calm, time.Minute)
	}
	if o.Bin == 0 {
		o.Bin = max(ChartBin(r.Horizon), time.Second)
	}
	r.of = o
	for i, s := range o.Strategies {
		x, run := &r.Strategies[i], o.Overload
		run.Layers, run.Horizon = s.layers(o.Timeout), r.Horizon
		if x.Runs != nil {
			run.Seed += uint64(x.Runs.Median)
		}
		var err error
		if x.Result, err = run.Run(ctx); x.Result == nil {
			return nil, err
		}
		if x.Err = cmp.Or(x.Err, err); x.Err != nil {
			x.Note = r.note(x.Err)
		}
	}
	if ctx.Err() != nil {
		return r, r.Incomplete()
	}
	return r, nil
}

// JSON returns the result.
func (r *OverloadResult) JSON() any { return r }

// runs returns the runs that say how often the server recovers. They do not depend on the end of the charts.
func (o Overload) runs(s Strategy, progress string) sim.Boundary {
	o.Horizon = 0
	return sim.Boundary{
		Overload: o.Overload, Callers: []sim.Callers{{Name: s.Title(), Layers: s.layers(o.Timeout)}}, Loads: []float64{o.Load}, Runs: o.Runs, Progress: o.Progress.of(progress),
	}
}

// layers returns the strategy's layers. The timeout applies if the policy has none.
func (s Strategy) layers(timeout time.Duration) []sim.Layer {
	return slices.Repeat([]sim.Layer{{Policy: s.Timed(timeout).Policy, Processes: s.Processes, FailureTakes: s.Takes}}, max(s.Layers, 1))
}

// Recovery returns in how many runs the server recovers, and after which time in the median of these.
func (x *OverloadStrategyResult) Recovery() (runs, after string) {
	switch {
	case x.Runs == nil:
		return "-", "-"
	case x.Runs.Recovered == 0:
		after = "-"
	case x.Runs.After.P50 == 0:
		after = "at once"
	default:
		after = axis.Time(x.Runs.After.P50)
	}
	return fmt.Sprintf("%d of %d", x.Runs.Recovered, x.Runs.Runs), after
}

// Grade returns well if the server recovers in all runs, late if it takes longer than sim.Soon in some, and bad.
func (x *OverloadStrategyResult) Grade() Grade {
	switch {
	case x.Runs == nil || x.Runs.Recovered+x.Runs.Late < x.Runs.Runs:
		return Bad
	case x.Runs.Late > 0:
		return Late
	}
	return Well
}

// Verdict returns whether the server recovers, as the end of a sentence: "recovers in 9 of 20 runs, after 16s"; of a
// single run "recovers after 16s".
func (x *OverloadStrategyResult) Verdict() string {
	runs, after := x.Recovery()
	switch {
	case x.Runs == nil:
		return "stopped early"
	case x.Runs.Recovered > 0:
		if after != "at once" {
			after = "after " + after
		}
		if x.Runs.Runs == 1 {
			return "recovers " + after
		}
		return fmt.Sprintf("recovers in %s runs, %s", runs, after)
	case x.Runs.Unhealthy == x.Runs.Runs || x.Runs.Runs == 1 && x.Result.Recovery.Verdict == sim.UnhealthyBefore:
		return "was not healthy before"
	case x.Runs.Unhealthy > 0:
		return fmt.Sprintf("recovers in %s runs, and was not healthy before in %d", runs, x.Runs.Unhealthy)
	case x.Runs.Runs == 1 && x.Result.Recovery.Verdict == sim.RecoveredLate:
		return "recovers only after " + axis.Time(x.Result.Recovery.After)
	case x.Runs.Runs == 1:
		return "does not recover within " + axis.Time(sim.Soon)
	case x.Runs.Late > 0:
		return fmt.Sprintf("recovers in %s runs within %s, and in %d later", runs, axis.Time(sim.Soon), x.Runs.Late)
	}
	return fmt.Sprintf("recovers in %s runs", runs)
}

// Text returns the figures as a table, the verdicts, and a chart of the requests of the first strategy.
func (o *OverloadResult) Text(width int) []string {
	width = min(width, maxWidth)
	names, figures := make([]string, len(o.Strategies)), make([][]Term, len(o.Strategies))
	for i, s := range o.Strategies {
		names[i], figures[i] = s.Name, s.figures(o.healthy())
	}
	lines := termTable(width, names, figures, o.setting()+" The chart: requests that reach the server.")
	const barLines = 3
	span := console.Span{Most: o.Horizon, Width: chartWidth(width)}
	most := o.most()
	for i, s := range o.Strategies {
		f := s.Result.Flow
		lines = append(lines, "", console.Shorten(s.Name+": "+s.Verdict(), width))
		lines = append(lines, console.Wrap(width, strings.Fields(s.Note)...)...)
		if i > 0 {
			continue
		}
		lines = append(lines, indent(console.Bars(o.row(f.Offered, f.Bin, most, span.Width), 1000, barLines), axis.Number(most)+"/s")...)
		marks := span.Marks([]time.Duration{o.Trigger.At, o.Trigger.At + o.Trigger.For}, func(i int) rune { return []rune("▼▲")[i] })
		lines = append(lines, indent([]string{marks, span.Labels()}, "")...)
	}
	return lines
}

// most returns the highest rate of requests of all strategies.
func (o *OverloadResult) most() float64 {
	most := 1.0
	for _, s := range o.Strategies {
		most = max(most, rate(slices.Max(s.Result.Flow.Offered), s.Result.Flow.Bin))
	}
	return most
}

// row returns the mean of the bins under each column, in thousandths of most.
func (o *OverloadResult) row(bins []int64, bin time.Duration, most float64, columns int) []int64 {
	row := make([]int64, columns)
	for i := range row {
		from := i * len(bins) / columns
		to := max((i+1)*len(bins)/columns, from+1)
		sum := int64(0)
		for _, n := range bins[from:to] {
			sum += n
		}
		row[i] = int64(math.Ceil(1000 * rate(sum, bin*time.Duration(to-from)) / most))
	}
	return row
}

// setting returns a sentence about the load and the trigger.
func (o *OverloadResult) setting() string {
	load := axis.Number(o.Load) + " operations per second"
	if o.of.Loops > 0 {
		load = count(o.of.Loops, "caller", "callers") + ", each of which starts its next operation when its last one has ended"
	}
	return fmt.Sprintf("Load: %s. The server's capacity is %s per second; from %s on it stands still for %s.",
		load, axis.Number(o.of.capacity()), axis.Time(o.Trigger.At), axis.Time(o.Trigger.For))
}

// capacity returns the requests that the server can serve in a second.
func (o *Overload) capacity() float64 { return 1 / o.Service.Mean.Seconds() }

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// Figure returns the requests and the successes of each strategy.
func (o *OverloadResult) Figure() picture.Figure {
	const height, mostBars = 170, 150
	f := picture.Figure{
		Columns: min(columns, max(len(o.Strategies), 1)),
		Keys: []picture.Key{
			{Name: "requests to the server", Colors: []picture.Color{picture.Plain}}, {Name: "operations that succeed", Colors: colorsOf(len(o.Strategies))},
		},
		Note: o.setting(),
	}
	highest, end := max(o.most(), o.of.capacity())*1.05, o.Horizon
	for i, s := range o.Strategies {
		flow := s.Result.Flow
		n := (len(flow.Offered)-1)/mostBars + 1
		series := func(counts []int64, c picture.Color) picture.Bars {
			return picture.Bars{Bars: bars(together(counts, n), flow.Bin*time.Duration(n), end, highest), Color: c}
		}
		p := picture.Panel{
			Title: console.Shorten(s.Name+": "+s.Verdict(), title), Height: height,
			X: picture.Axis{Most: end.Seconds(), Ticks: axis.Times(end, 6), Label: "time"},
			Y: picture.Axis{Most: highest, Ticks: axis.Rates(highest, 4), Label: "per second"},
			Marks: []picture.Mark{
				series(flow.Offered, picture.Plain), series(flow.Succeeded, picture.Series(i)),
				picture.Level{Y: o.of.capacity(), Most: end.Seconds(), Label: "capacity"},
				picture.Rule{X: o.Trigger.At.Seconds(), Most: highest, Label: "stall", Left: true},
				picture.Rule{X: o.back().Seconds(), Most: highest},
			},
		}
		if at, ok := s.recovered(o.back()); ok {
			p.Marks = append(p.Marks, picture.Rule{X: at.Seconds(), Most: highest, Label: "recovered", Color: picture.Series(i)})
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// back returns when the stall ends.
func (o *OverloadResult) back() time.Duration { return o.Trigger.At + o.Trigger.For }

// recovered returns when the server has recovered from a stall that ends at back.
func (x *OverloadStrategyResult) recovered(back time.Duration) (at time.Duration, ok bool) {
	r := x.Result.Recovery
	return back + r.After, r.Verdict == sim.Recovered && r.After > 0
}
