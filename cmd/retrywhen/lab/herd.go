package lab

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Seconds is a duration in JSON: a number of seconds, in six figures.
type Seconds time.Duration

// MarshalJSON writes the number.
func (s Seconds) MarshalJSON() ([]byte, error) {
	x := time.Duration(s).Seconds()
	if x != 0 {
		scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
		if r := math.Round(x*scale) / scale; !math.IsInf(r, 0) && !math.IsNaN(r) {
			x = r
		}
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64), nil
}

// Axis is an axis of time, from 0 to Most, with its ticks for a wide and for a narrow chart.
type Axis struct {
	Most   Seconds     `json:"most"`
	Wide   []axis.Tick `json:"wide"`
	Narrow []axis.Tick `json:"narrow"`
}

func newAxis(most time.Duration) Axis {
	return Axis{Seconds(most), axis.Times(most, 9), axis.Times(most, 4)}
}

// Herd is what the first charts, the figures and the lines of Go show.
type Herd struct {
	Jobs       int            `json:"jobs"`
	Runs       int            `json:"runs"` // of which the figures are the means
	Peak       string         `json:"peakWindow"`
	Dead       string         `json:"deadWindow"`
	Strategies []HerdStrategy `json:"strategies"`
}

// HerdStrategy is a herd under one strategy.
type HerdStrategy struct {
	Title string `json:"title"`
	Text  string `json:"text"` // the whole, as in an address
	Go    string `json:"go"`
	Note  string `json:"note,omitempty"` // why something is missing

	Jobs  []int       `json:"jobs"`  // those that are drawn, from 0
	Times [][]Seconds `json:"times"` // of each of them
	Waits [][]Seconds `json:"waits"` // of each of them
	Axis  Axis        `json:"axis"`

	WaitTicks []axis.Tick `json:"waitTicks"`

	Bin   Seconds `json:"bin"`
	Label string  `json:"binLabel"`
	Load  []int64 `json:"load"`

	Figures []Figure `json:"figures"`
}

// Figure is a figure as it is read, and as a number.
type Figure struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"`
	Value float64 `json:"value"`
	Help  string  `json:"help"`
}

const (
	mostDots  = 12_000 // on the whole page
	mostLines = 200    // jobs of one strategy
)

func (s State) herd() model.Herd {
	return model.Herd{Strategies: s.Strategies, Jobs: s.Jobs, Retries: s.Retries, PeakWindow: s.Peak, DeadWindow: s.Dead, Seed: s.Seed}
}

// ComputeHerd computes the herd. Its error is that of ctx.
func ComputeHerd(ctx context.Context, s State) (*Herd, error) {
	r, err := s.herd().Run(ctx)
	if err != nil {
		return nil, err
	}
	h := &Herd{Jobs: s.Jobs, Runs: r.Runs, Peak: axis.Time(r.PeakWindow), Dead: axis.Time(r.DeadWindow), Strategies: make([]HerdStrategy, len(r.Strategies))}
	lines := max(min(s.Jobs, mostLines, mostDots/(s.Retries*len(s.Strategies))), 1)
	for i, x := range r.Strategies {
		out := HerdStrategy{Title: x.Name, Text: x.Policy.String(), Go: goLine(x.Policy, s.Retries)}
		switch {
		case errors.Is(x.Err, model.ErrNoRetry):
			out.Note = "limit=0 allows no retry."
		case x.Err != nil:
			out.Note = "Its waits add up to more than " + axis.Time(math.MaxInt64) + "."
		default:
			end := r.End()
			if s.Own {
				end = x.Herd.End
			}
			out.figures(x.Figures, h)
			out.draw(x.Herd, lines, end)
		}
		h.Strategies[i] = out
	}
	return h, nil
}

// draw fills in what the charts show, lines being the number of jobs that are drawn.
func (x *HerdStrategy) draw(r *sim.HerdResult, lines int, end time.Duration) {
	var longest time.Duration
	for i := range lines {
		job := i * r.Jobs / lines
		times, waits := make([]Seconds, r.Retries), make([]Seconds, r.Retries)
		var before time.Duration
		for k := range r.Retries {
			at := r.At(job, k+1)
			times[k], waits[k] = Seconds(at), Seconds(at-before)
			longest = max(longest, at-before)
			before = at
		}
		x.Jobs, x.Times, x.Waits = append(x.Jobs, job), append(x.Times, times), append(x.Waits, waits)
	}
	x.Axis = newAxis(end)
	x.WaitTicks = axis.Times(longest, 4)
	bin := model.ChartBin(end)
	load, err := r.Load(bin)
	if err != nil {
		x.Note = err.Error()
		return
	}
	x.Bin, x.Label, x.Load = Seconds(bin), axis.Time(bin), load.Counts
}

func (x *HerdStrategy) figures(f *sim.Figures, h *Herd) {
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 0, 64) + " %" }
	x.Figures = []Figure{
		{"total wait", axis.Time(f.Total), f.Total.Seconds(), "to a job's last retry, on average"},
		{"peak / mean", axis.Number(f.PeakOverMean), f.PeakOverMean, "the most retries within " + h.Peak + ", over the mean"},
		{"dead time", percent(f.DeadShare), f.DeadShare, "the share of windows of " + h.Dead + " in which nothing comes"},
		{"mean CV", strconv.FormatFloat(f.MeanCV, 'f', 2, 64), f.MeanCV, "how much each single wait differs from job to job: standard deviation over mean, the mean of all waits"},
		{"CV of the total", strconv.FormatFloat(f.TotalCV, 'f', 2, 64), f.TotalCV, "how much the total wait differs from job to job"},
		{"first wait, most", axis.Time(f.FirstMost), f.FirstMost.Seconds(), "the longest first wait of any job"},
	}
}

// goLine is the policy's line, with a limit.
func goLine(s model.Strategy, retries int) string {
	p := s.Policy
	if _, ok := p.Limit(); !ok {
		p = p.With(retry.Limit(retries))
	}
	return gocode.Policy(p, s.Placement)
}
