package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// Text returns the figures as a table, and a chart of the attempts for each strategy.
func (o *OutageResult) Text(width int) []string {
	width = min(width, maxWidth)
	var names []string
	var figures [][]Term
	note := ""
	for _, s := range o.Strategies {
		if s.Result != nil {
			names, figures = append(names, s.Name), append(figures, s.figures())
			note = "Outage: " + axis.Time(o.Down) + "; at best all are served after " + axis.Time(s.Best) + "."
		}
	}
	lines := termTable(width, names, figures, note)
	const barLines = 3
	end := o.End()
	span := console.Span{Most: end, Width: chartWidth(width), Origin: o.Down}
	for _, s := range o.Strategies {
		lines = append(lines, "", s.Name+": attempts")
		lines = append(lines, console.Wrap(width, strings.Fields(s.Note)...)...)
		if s.Result == nil {
			continue
		}
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
		if s.Result == nil {
			continue
		}
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
