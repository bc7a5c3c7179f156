package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
	"github.com/retrywhen/retrywhen/sim"
)

// herdFlags are the flags of sim herd.
type herdFlags struct {
	simulation
	jobs, retries, runs int
	peak, dead          time.Duration
	own, ownSet, each   bool
}

func newSimHerd() *cobra.Command {
	var f herdFlags
	c := &cobra.Command{
		Use:   "herd [POLICY...]",
		Short: "Simulate jobs that fail together: when do their retries come?",
		Long: `Herd simulates jobs that fail together at time 0. Each is retried several times,
and every retry fails at once. Herd writes how the load is distributed: the total
wait until the last retry, the peak over the mean, the dead time without retries,
and how much the waits differ from job to job (CV, the standard deviation over the
mean). Charts follow: a dot for each retry, job against time, and the load.

Without a policy it uses the policies of the open question of "Visualization of
backoff functions": is there a better distribution, with little deviation in the
waits?`,
		Example: `  retrywhen sim herd
  retrywhen sim herd "exponential base=1s factor=2" "linear d=6s tiled"
  retrywhen sim herd --jobs 1000 "sidekiq" -o herd.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := f.strategies(args, func() []model.Strategy { return lab.Question().Strategies })
			if err == nil {
				err = refuseWords(strategies, "budget", "layers", "processes")
			}
			if err != nil {
				return fmt.Errorf("herd: %w", err)
			}
			f.ownSet = c.Flags().Changed("own-axis")
			if f.runs < 0 || f.runs > 1_000_000 {
				return fmt.Errorf("herd: --runs is %d, want 0 to 1000000", f.runs)
			}
			if f.peak < 0 || f.dead < 0 {
				return fmt.Errorf("herd: --peak is %v and --dead is %v, want at least 0", f.peak, f.dead)
			}
			if len(args) == 0 {
				question := lab.Question()
				if !c.Flags().Changed("peak") {
					f.peak = question.Peak
				}
				if !c.Flags().Changed("dead") {
					f.dead = question.Dead
				}
			}
			return f.run(c, func(ctx context.Context, progress model.Progress) (report, error) {
				h, err := f.compute(ctx, strategies, progress)
				if h == nil {
					return report{}, err
				}
				return report{
					text: h.text, json: h.json(f.each), figure: h.figure,
					page: func(w io.Writer) error {
						state := lab.Default()
						state.Tab, state.Strategies, state.Seed, state.Own, state.Peak, state.Dead = lab.TabHerd, strategies, f.seed, h.own, f.peak, f.dead
						state.Jobs, state.Retries = min(f.jobs, lab.MaxJobs), min(f.retries, lab.MaxRetries)
						return lab.WritePage(c.Context(), w, state)
					},
				}, err
			})
		},
	}
	f.flags(c)
	c.Flags().IntVarP(&f.jobs, "jobs", "j", 100, "number of jobs that fail together")
	c.Flags().IntVarP(&f.retries, "retries", "n", 5, "number of retries of each job, at most its policy's limit")
	c.Flags().IntVar(&f.runs, "runs", 0, "number of runs of which the figures are means (default: up to 200, by the size)")
	c.Flags().DurationVar(&f.peak, "peak", 0, "window of the peak (default: one that fits)")
	c.Flags().DurationVar(&f.dead, "dead", 0, "window of the dead time (default: one that fits)")
	c.Flags().BoolVar(&f.each, "each", false, "JSON has the time of each retry")
	c.Flags().BoolVar(&f.own, "own-axis", false, "each policy has its own time axis (default: if one lasts three times as long as another)")
	c.Flags().Lookup("horizon").Usage = "simulation end of the charts; the figures ignore it (default: none)"
	return c
}

// herd is a result of sim herd.
type herd struct {
	*model.HerdResult
	own bool
}

// json returns the value for JSON, with the time of each retry if each is set.
func (h *herd) json(each bool) any {
	if each {
		return h
	}
	r := *h.HerdResult
	r.Strategies = slices.Clone(r.Strategies)
	for i, x := range r.Strategies {
		short := *x.Herd
		short.Times = nil
		r.Strategies[i].Herd = &short
	}
	return r
}

// compute computes the result, up to the end of ctx and the horizon.
func (f *herdFlags) compute(ctx context.Context, strategies []model.Strategy, progress model.Progress) (*herd, error) {
	r, err := model.Herd{
		Strategies: strategies, Jobs: f.jobs, Retries: f.retries, Runs: f.runs, PeakWindow: f.peak, DeadWindow: f.dead,
		Seed: f.seed, Horizon: f.horizon, Progress: progress,
	}.Run(ctx)
	if r == nil {
		return nil, err
	}
	for _, x := range r.Strategies {
		if errors.Is(x.Err, model.ErrNoRetry) {
			return nil, noRetry(x.Policy)
		}
	}
	r.Strategies = slices.DeleteFunc(r.Strategies, func(x model.HerdStrategyResult) bool {
		if x.Err != nil && err == nil {
			err = x.Err
		}
		return x.Herd == nil
	})
	h := &herd{HerdResult: r, own: f.own}
	if !f.ownSet {
		h.own = h.ends() > mostEnds
	}
	return h, err
}

// mostEnds is the maximum ratio between the ends of herds on one time axis: the chart of a shorter herd would be too
// narrow.
const mostEnds = 3

// ends returns the ratio between the longest and the shortest herd.
func (h *herd) ends() float64 {
	shortest := h.End()
	for _, x := range h.Strategies {
		shortest = min(shortest, x.Herd.End)
	}
	return h.End().Seconds() / max(shortest, 1).Seconds()
}

var herdHeader = []string{"policy", "total", "p99", "peak/mean", "dead", "mean CV", "total CV", "first wait"}

func (h *herd) text(w io.Writer, width int) error {
	width = min(width, 140)
	var rows [][]string
	for _, s := range h.Strategies {
		if f := s.Figures; f != nil {
			rows = append(rows, []string{
				s.Name, axis.Time(f.Total), axis.Time(f.Totals.P99), peak(f), model.DeadText(f), fmt.Sprintf("%.2f", f.MeanCV), fmt.Sprintf("%.2f", f.TotalCV), axis.Time(f.FirstMost),
			})
		}
	}
	lines := []string{"no figures: the run stopped before they were computed"}
	if len(rows) > 0 {
		lines = console.Fit(width, herdHeader, rows, 1)
		lines = append(lines, console.Wrap(width,
			"Number of jobs: "+strconv.Itoa(h.Jobs)+".", fmt.Sprintf("Means of %d runs, ±: 95 %% confidence.", h.Runs), "Total: the wait until the last retry.", "p99: its 99th percentile.", "Peak: within "+axis.Time(h.PeakWindow)+".",
			"Dead: empty windows of "+axis.Time(h.DeadWindow)+".", "First wait: the longest.")...)
	}
	for _, s := range h.Strategies {
		lines = append(lines, "", s.Name)
		lines = append(lines, h.chart(s, width)...)
	}
	return writeLines(w, lines)
}

// peak returns the peak over the mean, with its confidence if that is 1 % or more.
func peak(f *sim.Figures) string {
	off := f.Peaks.Confidence()
	if f.End == 0 || off < f.PeakOverMean/100 {
		return model.PeakText(f)
	}
	return fmt.Sprintf("%s ±%.2g", model.PeakText(f), off)
}

// end returns the end of x's time axis.
func (h *herd) end(x model.HerdStrategyResult) time.Duration {
	if h.own {
		return x.Herd.End
	}
	return h.End()
}

// chart returns the dots and the load under them.
func (h *herd) chart(s model.HerdStrategyResult, width int) []string {
	const dotLines, barLines, margin = 6, 3, 8
	span := console.Span{Most: h.end(s), Width: max(width-margin, 24)}
	dots := console.NewDots(span.Width, dotLines)
	for job := range s.Herd.Jobs {
		for k := range s.Herd.Retries {
			if at := s.Herd.At(job, k+1); at != sim.Never {
				dots.Set(float64(at)/float64(max(span.Most, 1)), 1-float64(job)/float64(max(s.Herd.Jobs-1, 1)))
			}
		}
	}
	lines := indent(dots.Lines(), margin, "job")
	bin := span.Most/time.Duration(span.Width) + 1 // the last bin holds the end
	load, err := s.Herd.Load(bin)
	if err != nil {
		return append(lines, err.Error())
	}
	peak := strconv.FormatInt(load.Peak, 10)
	lines = append(lines, indent(console.Bars(load.Counts[:min(len(load.Counts), span.Width)], load.Peak, barLines), margin, peak)...)
	return append(lines, indent([]string{span.Labels()}, margin, "")...)
}

// indent puts the lines to the right of a margin, with a label at the first line.
func indent(lines []string, margin int, label string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if i > 0 {
			label = ""
		}
		out[i] = strings.TrimRight(fmt.Sprintf("%*s %s", margin-1, label, l), " ")
	}
	return out
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func (h *herd) figure() picture.Figure {
	const columns, mostDots = 2, 20_000
	f := picture.Figure{
		Columns: min(columns, max(len(h.Strategies), 1)),
		Note:    fmt.Sprintf("%d jobs fail together at time 0. Above: a dot for each retry, from violet (first) to yellow (last). Below: the load.", h.Jobs),
	}
	if h.own && len(h.Strategies) > 1 {
		f.Note += " Each chart has its own time axis."
	}
	for i := 0; i < len(h.Strategies); i += f.Columns {
		row := h.Strategies[i:min(i+f.Columns, len(h.Strategies))]
		var below []picture.Panel
		for j := range f.Columns {
			if j >= len(row) { // an empty panel keeps the columns aligned
				f.Panels = append(f.Panels, picture.Panel{Height: dotsHeight})
				below = append(below, picture.Panel{Height: loadHeight})
				continue
			}
			dots, load := h.panels(row[j], mostDots/len(h.Strategies))
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
func (h *herd) panels(s model.HerdStrategyResult, mostDots int) (dots, load picture.Panel) {
	const mostLines = 300
	end := h.end(s)
	x := picture.Axis{Most: end.Seconds() * 1.01, Ticks: axis.Times(end, 6)}
	step := max(s.Herd.Jobs*s.Herd.Retries/mostDots, 1)
	name := s.Name
	if s.Figures != nil {
		if name = s.Name + ": " + model.AtOnce; s.Figures.End > 0 {
			name = fmt.Sprintf("%s: peak %s × the mean", s.Name, model.PeakText(s.Figures))
		}
	}
	dots = picture.Panel{
		Title: console.Shorten(name, 64), X: x, Height: dotsHeight,
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
	return dots, loadPanel(s.Herd, end, x, loadHeight)
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

// loadPanel returns the histogram under the dots.
func loadPanel(r *sim.HerdResult, end time.Duration, x picture.Axis, height float64) picture.Panel {
	bin := model.ChartBin(end)
	p := picture.Panel{X: x, Height: height}
	load, err := r.Load(bin)
	if err != nil {
		p.Title = err.Error()
		return p
	}
	bars := make([]picture.Bar, len(load.Counts))
	for i, c := range load.Counts {
		bars[i] = picture.Bar{From: float64(i) * bin.Seconds(), To: min(float64(i+1)*bin.Seconds(), x.Most), Height: float64(c)}
	}
	p.Y = picture.Axis{Most: float64(load.Peak), Ticks: axis.Numbers(float64(load.Peak), 2), Label: "retries in " + axis.Time(bin)}
	p.X.Label = "time"
	p.Marks = []picture.Mark{picture.Bars{Bars: bars, Color: picture.Plain}}
	return p
}
