package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Outage is a sim.Outage under each of the strategies.
type Outage struct {
	Strategies []Strategy
	sim.Outage               // its Policy, Placement and Progress are ignored; a strategy's Processes replace its own
	Limit      int           // of the retries; 0 is the policy's own
	Budget     *retry.Budget // of policies that have none; nil is none
	Work       time.Duration // the maximum real time for one strategy; 0 is no limit
	Progress   Progress
}

// DefaultOutage returns the strategies of the command and the page.
func DefaultOutage() []Strategy {
	return MustParse(
		"constant: constant d=5s",
		"15 %: exponential base=1s factor=2 cap=30s jitter=default",
		"equal: exponential base=1s factor=2 cap=30s jitter=equal",
		"full: exponential base=1s factor=2 cap=30s jitter=full",
		"decorrelated: decorrelated base=1s cap=30s",
		"soon, then a wave: table delays=1s,55s tiled")
}

// OutageHorizon is the default of an Outage's end, after the server's return.
const OutageHorizon = 7 * 24 * time.Hour

// OutageResult is the result of an Outage.
type OutageResult struct {
	Down       time.Duration          `json:"down"`
	Strategies []OutageStrategyResult `json:"strategies"`
	of         Outage
	compared
}

// OutageStrategyResult is the result of one strategy.
type OutageStrategyResult struct {
	Name   string            `json:"name"`
	Policy Strategy          `json:"policy"`
	Note   string            `json:"note,omitempty"` // the text of Err
	After  time.Duration     `json:"after"`          // when the last client was served, after the server's return
	Best   time.Duration     `json:"best"`           // when it could have been, after the server's return
	Result *sim.OutageResult `json:"result"`
	Err    error             `json:"-"` // why something is missing: a *sim.StoppedError
}

// Run computes the outage. It returns a *sim.FieldError and no result for an invalid Outage, and a *sim.StoppedError
// with the result so far when ctx ends.
func (o Outage) Run(ctx context.Context) (*OutageResult, error) {
	if o.Horizon == 0 {
		o.Horizon = o.Down + min(OutageHorizon, math.MaxInt64-max(o.Down, 0))
	}
	r := &OutageResult{compared: compareTimed(o.Strategies, o.Timeout), of: o, Down: o.Down, Strategies: []OutageStrategyResult{}}
	for _, s := range o.Strategies {
		x := OutageStrategyResult{Name: s.Title(), Policy: s}
		run := o.Outage
		run.Policy, run.Placement, run.FailureTakes, run.Progress = s.Policy, s.Placement, s.Takes, o.Progress.of(x.Name)
		if s.Processes > 0 {
			run.Processes = s.Processes
		}
		if _, ok := run.Policy.Budget(); !ok && o.Budget != nil {
			run.Policy = run.Policy.With(retry.WithBudget(o.Budget))
		}
		if o.Limit > 0 {
			run.Policy = run.Policy.With(retry.Limit(o.Limit))
		}
		x.Result, x.Err = limited(ctx, o.Work, run.Run)
		if x.Result == nil {
			return nil, x.Err
		}
		x.Note, x.After, x.Best = r.note(x.Err), max(0, x.Result.End-o.Down), x.Result.Best-o.Down
		r.Strategies = append(r.Strategies, x)
		if x.Err != nil && ctx.Err() != nil {
			return r, x.Err
		}
	}
	return r, nil
}

// End returns the end of the bin with the strategy's last attempt.
func (x *OutageStrategyResult) End() time.Duration {
	bin, n := x.Result.Traffic.Bin, time.Duration(len(x.Result.Traffic.Attempts))
	if n > math.MaxInt64/bin {
		return math.MaxInt64
	}
	return bin * n
}

// End returns the end of the bin with the last attempt of all strategies.
func (r *OutageResult) End() time.Duration {
	var end time.Duration
	for i := range r.Strategies {
		end = max(end, r.Strategies[i].End())
	}
	return end
}

// JSON returns the result.
func (r *OutageResult) JSON() any { return r }

// traffic returns the attempts of a chart that ends at end, and those that are served. It joins bins of the simulation.
func (x *OutageStrategyResult) traffic(end time.Duration) (bin time.Duration, attempts, served []int64) {
	t := x.Result.Traffic
	n := max(int(ChartBin(end)/t.Bin), 1)
	return t.Bin * time.Duration(n), together(t.Attempts, n), together(t.Served, n)
}

// top returns the end of the charts' y axis, a little above the highest rate after the server's return: the peak of the
// first failures would make all else invisible.
func (r *OutageResult) top() float64 {
	highest := float64(r.of.Capacity)
	for i := range r.Strategies {
		x := &r.Strategies[i]
		bin, attempts, _ := x.traffic(r.End())
		for _, n := range attempts[min(int(r.Down/bin), len(attempts)):] {
			highest = max(highest, rate(n, bin))
		}
	}
	return highest * 1.1
}

// ParseBudget parses capacity,cost,refund[,refill per second].
func ParseBudget(text string) (*retry.Budget, error) {
	p, err := retry.Parse("constant d=0s budget=" + text)
	if parse, ok := errors.AsType[*backoff.ParseError](err); ok {
		return nil, errors.New(parse.Reason)
	}
	b, _ := p.Budget()
	return b, err
}

// Text returns the figures as a table, and a chart of the attempts of the first strategy.
func (o *OutageResult) Text(width int) []string {
	width = min(width, maxWidth)
	var names []string
	var figures [][]Term
	note := ""
	for _, s := range o.Strategies {
		names, figures = append(names, s.Name), append(figures, s.figures())
		note = "Outage: " + axis.Time(o.Down) + "; at best all are served after " + axis.Time(s.Best) + "."
	}
	lines := termTable(width, names, figures, note)
	const barLines = 3
	end := o.End()
	span := console.Span{Most: end, Width: chartWidth(width), Origin: o.Down}
	for _, s := range o.Strategies {
		if s.Note != "" {
			lines = append(lines, console.Wrap(width, strings.Fields(s.Name+": "+s.Note)...)...)
		}
	}
	for _, s := range o.Strategies[:min(1, len(o.Strategies))] {
		lines = append(lines, "", s.Name+": attempts")
		counts := spread(s.Result.Traffic.Bin, s.Result.Traffic.Attempts, end, span.Width)
		most := slices.Max(counts)
		lines = append(lines, indent(console.Bars(counts, most, barLines), perSecond(most, max(end/time.Duration(span.Width), 1)))...)
		marks := span.Marks([]time.Duration{o.Down}, func(int) rune { return '▲' })
		lines = append(lines, indent([]string{marks, span.Labels()}, "")...)
	}
	return lines
}

// spread adds up bins in n columns from 0 to end.
func spread(bin time.Duration, bins []int64, end time.Duration, n int) []int64 {
	all := make([]int64, n)
	for i, count := range bins {
		all[min(int(float64(bin)*float64(i)/float64(max(end, 1))*float64(n)), n-1)] += count
	}
	return all
}

// Figure returns the attempts of each strategy.
func (o *OutageResult) Figure() picture.Figure {
	const height = 110
	f := picture.Figure{
		Columns: min(columns, max(len(o.Strategies), 1)),
		Keys: []picture.Key{
			{Name: "attempts", Colors: []picture.Color{picture.Plain}}, {Name: "attempts served", Colors: colorsOf(len(o.Strategies))},
		},
		Note: "Bars that are higher than the axis are cut off.",
	}
	highest, end := o.top(), o.End()
	for i, s := range o.Strategies {
		bin, attempts, served := s.traffic(end)
		p := picture.Panel{
			Title: console.Shorten(s.Name+": "+s.summary(), title), Height: height,
			X: picture.Axis{Most: end.Seconds(), Ticks: axis.TimesFrom(o.Down, end, 6), Label: "time since the server's return"},
			Y: picture.Axis{Most: highest, Ticks: axis.Rates(highest, 3), Label: "per second"},
			Marks: []picture.Mark{
				picture.Bars{Bars: bars(attempts, bin, end, highest), Color: picture.Plain}, picture.Bars{Bars: bars(served, bin, end, highest), Color: picture.Series(i)},
				picture.Level{Y: float64(o.of.Capacity), Most: end.Seconds(), Label: "capacity"},
				picture.Rule{X: o.Down.Seconds(), Most: highest, Label: "back", Left: true},
			},
		}
		if s.Result.Served == s.Result.Clients && s.After > 0 {
			p.Marks = append(p.Marks, picture.Rule{X: s.Result.End.Seconds(), Most: highest, Label: "all served", Left: s.Result.End > end*4/5, Color: picture.Series(i)})
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// summary returns when all were served, or how many were.
func (x *OutageStrategyResult) summary() string {
	if x.Result.Served < x.Result.Clients {
		return x.served() + " served"
	}
	return "all served after " + x.served()
}

// served returns the time until all were served, or how many were.
func (x *OutageStrategyResult) served() string {
	if x.Result.Served < x.Result.Clients {
		return fmt.Sprintf("%d of %d", x.Result.Served, x.Result.Clients)
	}
	return axis.Time(x.After)
}
