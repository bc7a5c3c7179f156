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

// Text returns the figures as a table, and charts.
func (h *HerdResult) Text(width int) []string {
	width = min(width, maxWidth)
	var names []string
	var figures [][]Term
	for _, s := range h.Strategies {
		if s.Figures != nil {
			names, figures = append(names, s.Name), append(figures, h.figures(s.Figures))
		}
	}
	lines := []string{"no figures: the run stopped before they were computed"}
	if len(names) > 0 {
		lines = termTable(width, names, figures, fmt.Sprintf("Number of jobs: %d. Means of %s.", h.Jobs, count(h.Runs, "run", "runs")))
	}
	for i := range h.Strategies {
		s := &h.Strategies[i]
		lines = append(lines, "", s.Name)
		lines = append(lines, console.Wrap(width, strings.Fields(s.Note)...)...)
		if s.Herd != nil {
			lines = append(lines, h.chart(s, width)...)
		}
	}
	return lines
}

// chart returns the dots and the load under them.
func (h *HerdResult) chart(s *HerdStrategyResult, width int) []string {
	const dotLines, barLines = 6, 3
	span := console.Span{Most: h.end(s), Width: chartWidth(width)}
	dots := console.NewDots(span.Width, dotLines)
	for job := range s.Herd.Jobs {
		for k := range s.Herd.Retries {
			if at := s.Herd.At(job, k+1); at != sim.Never {
				dots.Set(float64(at)/float64(max(span.Most, 1)), 1-float64(job)/float64(max(s.Herd.Jobs-1, 1)))
			}
		}
	}
	lines := indent(dots.Lines(), "job")
	bin := span.Most/time.Duration(span.Width) + 1 // the last bin holds the end
	load, err := s.Herd.Load(bin)
	if err != nil {
		return append(lines, err.Error())
	}
	lines = append(lines, indent(console.Bars(load.Counts[:min(len(load.Counts), span.Width)], load.Peak, barLines), perSecond(load.Peak, bin))...)
	return append(lines, indent([]string{span.Labels()}, "")...)
}

// Figure returns the dots and the load of each strategy.
func (h *HerdResult) Figure() picture.Figure {
	const mostDots = 20_000
	var drawn []*HerdStrategyResult
	for i := range h.Strategies {
		if h.Strategies[i].Herd != nil {
			drawn = append(drawn, &h.Strategies[i])
		}
	}
	highest := h.highest()
	f := picture.Figure{
		Columns: min(columns, max(len(drawn), 1)),
		Note:    fmt.Sprintf("%d jobs fail together at time 0. Above: a dot for each retry, from violet (first) to yellow (last). Below: the load.", h.Jobs),
	}
	if h.Own && len(drawn) > 1 {
		f.Note += " Each chart has its own time axis."
	}
	for i := 0; i < len(drawn); i += f.Columns {
		row := drawn[i:min(i+f.Columns, len(drawn))]
		var below []picture.Panel
		for j := range f.Columns {
			if j >= len(row) { // an empty panel keeps the columns aligned
				f.Panels = append(f.Panels, picture.Panel{Height: dotsHeight})
				below = append(below, picture.Panel{Height: loadHeight})
				continue
			}
			dots, load := h.panels(row[j], mostDots/len(drawn), highest)
			f.Panels = append(f.Panels, dots)
			below = append(below, load)
		}
		f.Panels = append(f.Panels, below...)
	}
	return f
}

// dotsHeight and loadHeight are the heights of a strategy's panels.
const dotsHeight, loadHeight = 210, 80

// panels returns the dots of a strategy, about mostDots of them, and its load.
func (h *HerdResult) panels(s *HerdStrategyResult, mostDots int, highest float64) (dots, load picture.Panel) {
	const mostLines = 300
	end := h.end(s)
	x := picture.Axis{Most: end.Seconds() * 1.01, Ticks: axis.Times(end, 6)}
	step := max(s.Herd.Jobs*s.Herd.Retries/mostDots, 1)
	name := s.Name
	if s.Figures != nil {
		if name = s.Name + ": " + AtOnce; s.Figures.End > 0 {
			name = fmt.Sprintf("%s: peak %s in %s, %s × the mean", s.Name, axis.Number(s.Figures.Peak), axis.Time(h.PeakWindow), PeakText(s.Figures))
		}
	}
	dots = picture.Panel{
		Title: console.Shorten(name, title), X: x, Height: dotsHeight,
		Y: picture.Axis{Most: float64(max(s.Herd.Jobs-1, 1)) * 1.02, Ticks: axis.Numbers(float64(s.Herd.Jobs), 4), Label: "job"},
	}
	if s.Herd.Jobs <= mostLines {
		dots.Marks = append(dots.Marks, picture.Line{Points: jobLines(s.Herd), Color: picture.Faint, Width: 0.5})
	}
	for k := range s.Herd.Retries {
		var points []picture.Point
		for job := 0; job < s.Herd.Jobs; job += step {
			if at := s.Herd.At(job, k+1); at != sim.Never {
				points = append(points, picture.Point{X: at.Seconds(), Y: float64(job)})
			}
		}
		dots.Marks = append(dots.Marks, picture.Dots{Points: points, Radius: 1.7, Color: picture.Retry(k, s.Herd.Retries)})
	}
	load = picture.Panel{X: x, Height: loadHeight, Y: picture.Axis{Most: highest, Ticks: axis.Rates(highest, 3), Label: "retries per second"}}
	load.X.Label = "time"
	bin, counts, err := h.load(s)
	if err != nil {
		load.Title = err.Error()
		return dots, load
	}
	i := slices.IndexFunc(h.Strategies, func(x HerdStrategyResult) bool { return x.Name == s.Name })
	load.Marks = []picture.Mark{picture.Bars{Bars: bars(counts, bin, end+end/100, highest), Color: picture.Series(i)}}
	return dots, load
}

// jobLines returns a line for each job, from its first retry to its last, with breaks between them.
func jobLines(r *sim.HerdResult) []picture.Point {
	var points []picture.Point
	for job := range r.Jobs {
		last := sim.Never
		for k := range r.Retries {
			last = max(last, r.At(job, k+1))
		}
		if first := r.At(job, 1); first != sim.Never {
			y := float64(job)
			points = append(points, picture.Point{X: first.Seconds(), Y: y}, picture.Point{X: last.Seconds(), Y: y}, picture.Point{X: math.NaN(), Y: y})
		}
	}
	return points
}

// load returns the load of a strategy's chart.
func (h *HerdResult) load(x *HerdStrategyResult) (bin time.Duration, counts []int64, err error) {
	var ends []time.Duration
	for i := range h.Strategies {
		if y := &h.Strategies[i]; y.Herd != nil {
			ends = append(ends, h.end(y))
		}
	}
	bin = barBin(h.end(x), ends)
	load, err := x.Herd.Load(bin)
	if err != nil {
		return 0, nil, err
	}
	return bin, load.Counts, nil
}

// highest returns the highest rate of all charts of the load.
func (h *HerdResult) highest() float64 {
	most := 0.0
	for i := range h.Strategies {
		if x := &h.Strategies[i]; x.Herd != nil {
			bin, counts, _ := h.load(x) // without counts if it fails
			for _, n := range counts {
				most = max(most, rate(n, bin))
			}
		}
	}
	return most
}
