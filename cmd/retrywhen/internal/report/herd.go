package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Herd is a sim.Herd under each of the strategies.
type Herd struct {
	Strategies []Strategy
	Jobs       int
	Retries    int // of each job, or its policy's limit if that is less
	Runs       int // the figures are means of this many runs; 0 chooses by the size
	Seed       uint64
	Horizon    time.Duration // of the retries, not of the figures; 0 is none
	Progress   Progress
}

// DefaultHerd returns the default of the command: the comparison of "Visualization of backoff functions", with an
// answer to its open question.
func DefaultHerd() Herd {
	return Herd{Jobs: 100, Retries: 5, Strategies: MustParse(
		"constant: constant d=5m",
		"exponential: exponential base=1m factor=2 plus=3m",
		"sidekiq: sidekiq",
		"buckets: buckets unit=1s exponent=3",
		"tiled: linear d=52.32s tiled",
	)}
}

// HerdResult is the result of a Herd.
type HerdResult struct {
	Jobs       int                  `json:"jobs"`
	Runs       int                  `json:"runs"`
	PeakWindow time.Duration        `json:"peakWindow"`
	DeadWindow time.Duration        `json:"deadWindow"`
	Strategies []HerdStrategyResult `json:"strategies"`
	of         Herd
	compared
}

// HerdStrategyResult is the result of one strategy.
type HerdStrategyResult struct {
	Name    string          `json:"name"`
	Policy  Strategy        `json:"policy"`
	Figures *sim.Figures    `json:"figures,omitempty"` // nil if not computed
	Herd    *sim.HerdResult `json:"herd,omitempty"`    // nil if not computed
	Note    string          `json:"note,omitempty"`    // why something is missing
	Err     error           `json:"-"`                 // why something is missing: a *sim.StoppedError
}

// By default the figures are means of as many runs as have about a million waits, at most 200.
const (
	figureWaits = 1_000_000
	figureRuns  = 200
)

// Run computes the herd. It returns a *sim.FieldError and no result for an invalid Herd, and a *sim.StoppedError with
// the strategies computed so far when ctx ends.
func (h Herd) Run(ctx context.Context) (*HerdResult, error) {
	r, err := h.retries(ctx)
	if err != nil {
		return r, err
	}
	if r.Runs == 0 {
		r.Runs = min(max(figureWaits/(h.Jobs*h.Retries), 1), figureRuns)
	}
	for i := range r.Strategies {
		x := &r.Strategies[i]
		if x.Herd == nil {
			continue
		}
		figures, err := sim.Comparison{
			Strategies: []sim.Strategy{x.Policy.unbudgeted().Sim()}, Jobs: h.Jobs, Retries: x.Herd.Retries, Runs: r.Runs, Seed: h.Seed,
			PeakWindow: r.PeakWindow, DeadWindow: r.DeadWindow, Progress: h.Progress.of("figures of " + x.Name),
		}.Run(ctx)
		switch {
		case err == nil:
			x.Figures = &figures[0]
		case errors.Is(err, sim.ErrHorizon): // in one of the runs
			x.Err, x.Note = err, r.note(err)
		default:
			return r, err
		}
	}
	return r, nil
}

// retries computes one run of each strategy and chooses the windows.
func (h Herd) retries(ctx context.Context) (*HerdResult, error) {
	r := &HerdResult{compared: compared{strategies: h.Strategies}, of: h, Jobs: h.Jobs, Runs: h.Runs, Strategies: []HerdStrategyResult{}}
	var shortest time.Duration // windows are shorter than this herd
	var stopped error
	for _, s := range h.Strategies {
		x := HerdStrategyResult{Name: s.Title(), Policy: s}
		retries := h.Retries
		if limit, ok := s.Policy.Limit(); ok {
			retries = min(retries, limit)
		}
		herd, err := sim.Herd{
			Policy: s.unbudgeted().Policy, Placement: s.Placement, Processes: s.Processes, Jobs: h.Jobs, Retries: retries, Seed: h.Seed, Horizon: h.Horizon,
			Progress: h.Progress.of(x.Name),
		}.Run(ctx)
		if herd == nil {
			return nil, err
		}
		x.Err, x.Note = err, r.note(err)
		if err == nil || herd.End > 0 && (h.Horizon > 0 || ctx.Err() != nil) { // no chart of centuries
			x.Herd = herd
		}
		r.Strategies = append(r.Strategies, x)
		if err != nil && ctx.Err() != nil {
			stopped = err
			break
		}
		if herd.End > 0 && (shortest == 0 || herd.End < shortest) {
			shortest = herd.End
		}
	}
	r.PeakWindow = ChartBin(r.End())                       // the bars of the charts are those windows
	r.DeadWindow = axis.Step(shortest, h.Jobs*h.Retries/3) // at random times about one in twenty windows is empty
	return r, stopped
}

// unbudgeted returns the strategy without its budget: the jobs of a herd share none.
func (s Strategy) unbudgeted() Strategy {
	var words []string
	for w := range strings.FieldsSeq(s.Policy.String()) {
		if !strings.HasPrefix(w, "budget=") {
			words = append(words, w)
		}
	}
	s.Name, s.Policy = s.Title(), must(retry.Parse(strings.Join(words, " ")))
	return s
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err) // the text of a policy is one, and a chart has few bins
	}
	return x
}

// atOnce is the text of the peak over the mean when all retries come at one instant.
const atOnce = "all at once"

// peakText returns the peak over the mean as a text.
func peakText(f *sim.Figures) string {
	if f.End == 0 {
		return atOnce
	}
	return axis.Number(f.PeakOverMean)
}

// deadText returns the share of dead time as a text, "-" for a herd that takes no time.
func deadText(f *sim.Figures) string {
	if f.End == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*f.DeadShare, 'f', 0, 64) + " %"
}

// End returns the time of the last retry of all strategies.
func (r *HerdResult) End() time.Duration {
	var end time.Duration
	for _, x := range r.Strategies {
		if x.Herd != nil {
			end = max(end, x.Herd.End)
		}
	}
	return end
}

// JSON returns the result, without the time of each retry.
func (r *HerdResult) JSON() any {
	short := *r
	short.Strategies = slices.Clone(r.Strategies)
	for i, x := range r.Strategies {
		if x.Herd != nil {
			herd := *x.Herd
			herd.Times = nil
			short.Strategies[i].Herd = &herd
		}
	}
	return short
}

// ChartBin returns the width of the bars of a chart that ends at end.
func ChartBin(end time.Duration) time.Duration {
	const bars = 150
	return max(axis.Step(end, bars), 1)
}

// Text returns the figures as a table, and a chart of the load of the first strategy.
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
	charts := 0
	for i := range h.Strategies {
		s := &h.Strategies[i]
		if s.Note != "" {
			lines = append(lines, console.Wrap(width, strings.Fields(s.Name+": "+s.Note)...)...)
		}
		if s.Herd != nil && charts == 0 {
			charts++
			lines = append(append(lines, "", s.Name), h.chart(s, width)...)
		}
	}
	return lines
}

// chart returns the load.
func (h *HerdResult) chart(s *HerdStrategyResult, width int) []string {
	const barLines = 3
	span := console.Span{Most: h.End(), Width: chartWidth(width)}
	bin := span.Most/time.Duration(span.Width) + 1 // the last bin holds the end
	load := must(s.Herd.Load(bin))
	lines := indent(console.Bars(load.Counts[:min(len(load.Counts), span.Width)], load.Peak, barLines), perSecond(load.Peak, bin))
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
	end := h.End()
	x := picture.Axis{Most: end.Seconds() * 1.01, Ticks: axis.Times(end, 6)}
	step := max(s.Herd.Jobs*s.Herd.Retries/mostDots, 1)
	name := s.Name
	if s.Figures != nil {
		if name = s.Name + ": " + atOnce; s.Figures.End > 0 {
			name = fmt.Sprintf("%s: peak %s in %s, %s × the mean", s.Name, axis.Number(s.Figures.Peak), axis.Time(h.PeakWindow), peakText(s.Figures))
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
	load = picture.Panel{X: x, Height: loadHeight}
	load.X.Label = "time"
	bin := h.PeakWindow
	i := slices.IndexFunc(h.Strategies, func(x HerdStrategyResult) bool { return x.Name == s.Name })
	load.Y = picture.Axis{Most: highest, Ticks: axis.Numbers(highest, 3), Label: "retries in " + axis.Time(bin)}
	var all []picture.Bar
	for k, n := range must(s.Herd.Load(bin)).Counts {
		from := bin * time.Duration(k)
		all = append(all, picture.Bar{From: from.Seconds(), To: min(from+bin, end+end/100).Seconds(), Height: float64(n)})
	}
	load.Marks = []picture.Mark{picture.Bars{Bars: all, Color: picture.Series(i)}}
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

// highest returns the highest bar of all charts of the load.
func (h *HerdResult) highest() float64 {
	most := int64(1)
	for _, x := range h.Strategies {
		if x.Herd != nil {
			most = max(most, must(x.Herd.Load(h.PeakWindow)).Peak)
		}
	}
	return float64(most)
}

// figures returns the figures of the comparison.
func (r *HerdResult) figures(f *sim.Figures) []Term {
	cv := func(name string, x float64, help string) Term { return Term{name, fmt.Sprintf("%.2f", x), x, help} }
	return []Term{
		{"total", axis.Time(f.Total), f.Total.Seconds(), "the wait until a job's last retry, on average"},
		{"peak/mean", peakText(f), f.PeakOverMean, "the most retries in " + axis.Time(r.PeakWindow) + ", over the mean"},
		{"dead", deadText(f), f.DeadShare, "the share of windows of " + axis.Time(r.DeadWindow) + " without a retry"},
		cv("mean CV", f.MeanCV, "how much a wait varies from job to job: its standard deviation over its mean, on average over all waits"),
		cv("total CV", f.TotalCV, "how much the total wait varies from job to job"),
		{"peak", axis.Number(f.Peak), f.Peak, "the most retries in " + axis.Time(r.PeakWindow)},
		{"first wait", axis.Time(f.FirstMost), f.FirstMost.Seconds(), "the longest of all jobs"},
		{"p99", axis.Time(f.Totals.P99), f.Totals.P99.Seconds(), "the 99th percentile of the total"},
	}
}
