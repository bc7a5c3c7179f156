package report

import (
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

// Text returns the figures as a table, and charts of the requests and the successes for each strategy.
func (o *OverloadResult) Text(width int) []string {
	width = min(width, maxWidth)
	names, figures := make([]string, len(o.Strategies)), make([][]Term, len(o.Strategies))
	for i, s := range o.Strategies {
		names[i], figures[i] = s.Name, s.figures()
	}
	lines := termTable(width, names, figures, o.setting()+" The charts: requests that reach the server, operations that succeed.")
	const barLines = 3
	span := console.Span{Most: o.Horizon, Width: chartWidth(width)}
	most := o.most()
	for _, s := range o.Strategies {
		f := s.Result.Flow
		lines = append(lines, "", console.Shorten(s.Name+": "+s.Verdict(), width))
		lines = append(lines, console.Wrap(width, strings.Fields(s.Note)...)...)
		for _, bins := range [][]int64{f.Offered, f.Succeeded} {
			lines = append(lines, indent(console.Bars(o.row(bins, f.Bin, most, span.Width), 1000, barLines), axis.Number(most)+"/s")...)
		}
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

// stalls returns what the server does during the stall.
func (o *OverloadResult) stalls() string {
	if o.Trigger.Speed > 0 {
		return "works at " + percent(o.Trigger.Speed) + " speed"
	}
	return "stands still"
}

// setting returns a sentence about the load and the trigger.
func (o *OverloadResult) setting() string {
	back := "."
	if o.Trigger.Ramp > 0 {
		back = fmt.Sprintf(", and reaches full speed %s later.", axis.Time(o.Trigger.Ramp))
	}
	return fmt.Sprintf("Load: %s operations per second. The server's capacity is %s per second; from %s on it %s for %s%s",
		axis.Number(o.Load), axis.Number(o.of.capacity()), axis.Time(o.Trigger.At), o.stalls(), axis.Time(o.Trigger.For), back)
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
