package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// Text returns the figures as a table, and a chart of the attempts for each strategy.
func (o *OutageResult) Text(width int) []string {
	width = min(width, maxWidth)
	var rows [][]string
	best := time.Duration(0)
	bin := o.of.Bin
	for _, s := range o.Strategies {
		r := s.Result
		if r == nil {
			continue
		}
		best, bin = s.Best, r.Traffic.Bin
		served := axis.Time(s.After)
		if r.Served < r.Clients {
			served = fmt.Sprintf("%d of %d", r.Served, r.Clients)
		}
		rows = append(rows, []string{
			s.Name, axis.Number(r.PerClient.Mean), strconv.FormatInt(r.PerClient.P99, 10), grouped(r.Peak), grouped(r.PeakAfter),
			grouped(r.FailuresAfter), grouped(r.GivenUp), served,
		})
	}
	lines := console.Fit(width, []string{"policy", "attempts", "p99", "peak", "peak after", "failed after", "given up", "served after"}, rows, 1)
	if len(rows) > 0 {
		lines = append(lines, console.Wrap(width,
			"Attempts: per client, on average.", "p99: the 99th percentile.", "Peak: in "+axis.Time(bin)+".", "Times, peak after, failed after:", "since the server's return.",
			"Outage: "+axis.Time(o.Down)+";", "at best all are served after "+axis.Time(best)+".")...)
	}
	const barLines = 3
	end := o.End()
	span := console.Span{Most: end, Width: chartWidth(width), Origin: o.Down}
	for _, s := range o.Strategies {
		lines = append(lines, "", s.Name+": attempts")
		if s.Note != "" {
			lines = append(lines, console.Wrap(width, strings.Fields(s.Note)...)...)
		}
		if s.Result == nil {
			continue
		}
		counts := spread(s.Result.Traffic.Bin, s.Result.Traffic.Attempts, end, span.Width)
		most := slices.Max(counts)
		lines = append(lines, indent(console.Bars(counts, most, barLines), strconv.FormatInt(most, 10))...)
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
		Keys:    []picture.Key{{Name: "attempts", Color: picture.Plain}, {Name: "attempts served", Color: picture.Series(0)}},
	}
	for _, s := range o.Strategies {
		if s.Result == nil {
			continue
		}
		end := o.end(&s)
		bin, attempts, served := s.Bars(end)
		highest := rate(slices.Max(append(attempts, 0)), bin)
		bars := func(counts []int64) []picture.Bar {
			bars := make([]picture.Bar, len(counts))
			for i, c := range counts {
				bars[i] = picture.Bar{From: float64(i) * bin.Seconds(), To: min(float64(i+1)*bin.Seconds(), end.Seconds()), Height: rate(c, bin)}
			}
			return bars
		}
		name := fmt.Sprintf("%s: all served after %s", s.Name, axis.Time(s.After))
		if s.Result.Served < s.Result.Clients {
			name = fmt.Sprintf("%s: %d of %d served", s.Name, s.Result.Served, s.Result.Clients)
		}
		f.Panels = append(f.Panels, picture.Panel{
			Title: console.Shorten(name, title), Height: height,
			X: picture.Axis{Most: end.Seconds(), Ticks: axis.TimesFrom(o.Down, end, 6), Label: "time since the server's return"},
			Y: picture.Axis{Most: highest, Ticks: axis.Numbers(highest, 3), Label: "per second"},
			Marks: []picture.Mark{
				picture.Bars{Bars: bars(attempts), Color: picture.Plain}, picture.Bars{Bars: bars(served), Color: picture.Series(0)},
				picture.Rule{X: o.Down.Seconds(), Most: highest, Label: "back"},
			},
		})
	}
	return f
}
