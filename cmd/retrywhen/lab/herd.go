package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Seconds is a duration that JSON encodes as a number of seconds with six digits.
type Seconds time.Duration

// MarshalJSON returns the number.
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

// Axis is a time axis from 0 to Most, with its ticks for a wide and for a narrow chart.
type Axis struct {
	Most   Seconds     `json:"most"`
	Wide   []axis.Tick `json:"wide"`
	Narrow []axis.Tick `json:"narrow"`
}

func newAxis(most time.Duration) Axis {
	return Axis{Seconds(most), axis.Times(most, 9), axis.Times(most, 4)}
}

// Herd holds the numbers of the charts of a herd.
type Herd struct {
	Jobs       int            `json:"jobs"`
	Runs       int            `json:"runs"` // the figures are means of this many runs
	Peak       string         `json:"peakWindow"`
	Dead       string         `json:"deadWindow"`
	Sentence   string         `json:"sentence"`      // about the load
	Waits      string         `json:"waitsSentence"` // about the waits
	Strategies []HerdStrategy `json:"strategies"`
	Tiles      *Tiles         `json:"tiles"`
}

// HerdStrategy is a herd under one strategy.
type HerdStrategy struct {
	Title   string `json:"title"`
	Formula string `json:"formula"`
	Note    string `json:"note,omitempty"` // why something is missing

	Jobs  []int       `json:"jobs"`  // the jobs that are drawn, from 0
	Times [][]Seconds `json:"times"` // of each of these jobs
	Waits [][]Seconds `json:"waits"` // of each of these jobs
	Axis  Axis        `json:"axis"`

	WaitTicks []axis.Tick `json:"waitTicks"`

	Bin   Seconds `json:"bin"`
	Label string  `json:"binLabel"`
	Load  []int64 `json:"load"`

	Figures []Figure `json:"figures"`
}

// Figure is a figure, as a text and as a number.
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
	return model.Herd{Strategies: s.Strategies, Jobs: s.Jobs, Retries: s.Retries, PeakWindow: s.Peak, DeadWindow: s.Dead, Seed: s.Seed, Progress: yield}
}

// ComputeHerd computes the herd. It fails when ctx ends.
func ComputeHerd(ctx context.Context, s State) (*Herd, error) {
	r, err := s.herd().Run(ctx)
	if err != nil {
		return nil, err
	}
	h := &Herd{Jobs: s.Jobs, Runs: r.Runs, Peak: axis.Time(r.PeakWindow), Dead: axis.Time(r.DeadWindow), Strategies: make([]HerdStrategy, len(r.Strategies))}
	lines := max(min(s.Jobs, mostLines, mostDots/(s.Retries*len(s.Strategies))), 1)
	for i, x := range r.Strategies {
		out := HerdStrategy{Title: x.Name, Formula: InWords(x.Policy)}
		switch {
		case errors.Is(x.Err, model.ErrNoRetry):
			out.Note = "limit=0 allows no retry."
		case x.Err != nil:
			out.Note = "The sum of its waits is more than " + axis.Time(math.MaxInt64) + "."
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
	h.sentences()
	h.Tiles, err = s.tiles(ctx)
	return h, err
}

// The indices of a herd's figures.
const (
	peakFigure = 1
	deadFigure = 2
	cvFigure   = 3
)

// sentences sets the sentences about the figures.
func (h *Herd) sentences() {
	least, most := h.extremes(peakFigure)
	if least == nil {
		if slices.ContainsFunc(h.Strategies, func(x HerdStrategy) bool { return x.Figures != nil }) {
			h.Sentence = count(h.Jobs, "job fails", "jobs fail together") + ", and all retries come at once."
		}
		return
	}
	peak := func(x *HerdStrategy) string {
		return fmt.Sprintf(" Under %s the peak of the load is %s times the mean, and %s of the time is dead.",
			quoted(x.Title), x.Figures[peakFigure].Text, x.Figures[deadFigure].Text)
	}
	h.Sentence = count(h.Jobs, "job fails", "jobs fail together") + "." + peak(most)
	if least == most {
		h.Waits = fmt.Sprintf("Under %s a wait varies from job to job by %s of its mean.", quoted(least.Title), percent(least.Figures[cvFigure].Value))
		return
	}
	h.Sentence += peak(least)
	least, most = h.extremes(cvFigure)
	h.Waits = fmt.Sprintf("A wait varies from job to job by %s of its mean under %s, and by %s under %s.",
		percent(least.Figures[cvFigure].Value), quoted(least.Title), percent(most.Figures[cvFigure].Value), quoted(most.Title))
}

// extremes returns the strategies with the smallest and with the largest value of a figure, nil if none has figures. It
// ignores strategies whose retries all come at once, because they have no peak and no dead time.
func (h *Herd) extremes(figure int) (least, most *HerdStrategy) {
	for i := range h.Strategies {
		x := &h.Strategies[i]
		if x.Figures == nil || x.Figures[peakFigure].Text == model.AtOnce {
			continue
		}
		v := x.Figures[figure].Value
		if least == nil || v < least.Figures[figure].Value {
			least = x
		}
		if most == nil || v > most.Figures[figure].Value {
			most = x
		}
	}
	return least, most
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 0, 64) + " %" }

// draw sets the numbers of the charts; lines is the number of jobs that are drawn.
func (x *HerdStrategy) draw(r *sim.HerdResult, lines int, end time.Duration) {
	var longest time.Duration
	for i := range lines {
		job := i * r.Jobs / lines
		var times, waits []Seconds
		var before time.Duration
		for k := range r.Retries {
			at := r.At(job, k+1)
			if at == sim.Never { // the policy gave up
				break
			}
			times, waits = append(times, Seconds(at)), append(waits, Seconds(at-before))
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
	x.Figures = []Figure{
		{"total wait", axis.Time(f.Total), f.Total.Seconds(), "the time until a job's last retry, on average"},
		{"peak / mean", model.PeakText(f), f.PeakOverMean, "the most retries within " + h.Peak + ", over the mean"},
		{"dead time", model.DeadText(f), f.DeadShare, "the share of windows of " + h.Dead + " without a retry"},
		{"mean CV", strconv.FormatFloat(f.MeanCV, 'f', 2, 64), f.MeanCV, "how much a wait varies from job to job: its standard deviation over its mean, on average over all waits"},
		{"CV of the total", strconv.FormatFloat(f.TotalCV, 'f', 2, 64), f.TotalCV, "how much the total wait varies from job to job"},
		{"longest first wait", axis.Time(f.FirstMost), f.FirstMost.Seconds(), "the longest first wait of all jobs"},
	}
}
