package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// herdPage holds the numbers of the charts of a herd.
type herdPage struct {
	Jobs       int                `json:"jobs"`
	Runs       int                `json:"runs"` // the figures are means of this many runs
	Peak       string             `json:"peakWindow"`
	Dead       string             `json:"deadWindow"`
	Sentence   string             `json:"sentence"`      // about the load
	Waits      string             `json:"waitsSentence"` // about the waits
	Highest    float64            `json:"highest"`       // of all loads
	Longest    Seconds            `json:"longest"`       // of all waits
	WaitTicks  []axis.Tick        `json:"waitTicks"`
	Strategies []herdPageStrategy `json:"strategies"`
}

// herdPageStrategy is a herd under one strategy.
type herdPageStrategy struct {
	Title   string `json:"title"`
	Formula string `json:"formula"`
	Note    string `json:"note,omitempty"` // why something is missing

	Jobs  []int       `json:"jobs"`  // the jobs that are drawn, from 0
	Times [][]Seconds `json:"times"` // of each of these jobs
	Waits [][]Seconds `json:"waits"` // of each of these jobs
	Axis  Axis        `json:"axis"`

	Bin  Seconds   `json:"bin"`
	Load []float64 `json:"load"` // per second

	Figures []Term `json:"figures"`
}

const (
	mostDots  = 12_000 // on the whole page
	mostLines = 200    // jobs of one strategy
)

// Page returns the numbers of the charts.
func (r *HerdResult) Page() any {
	h := &herdPage{Jobs: r.Jobs, Runs: r.Runs, Peak: axis.Time(r.PeakWindow), Dead: axis.Time(r.DeadWindow), Highest: r.highest(), Strategies: make([]herdPageStrategy, len(r.Strategies))}
	lines := max(min(r.Jobs, mostLines, mostDots/(r.of.Retries*max(len(r.Strategies), 1))), 1)
	var longest time.Duration
	for i := range r.Strategies {
		x := &r.Strategies[i]
		out := herdPageStrategy{Title: x.Name, Formula: InWords(x.Policy), Note: x.Note}
		if x.Figures != nil {
			out.Figures = r.figures(x.Figures)
		}
		if x.Herd != nil {
			longest = max(longest, out.draw(r, x, min(lines, x.Herd.Jobs)))
		}
		h.Strategies[i] = out
	}
	h.Longest, h.WaitTicks = Seconds(longest), axis.Times(longest, 4)
	h.sentences()
	return h
}

// The indices of a herd's figures.
const (
	peakFigure  = 1
	deadFigure  = 2
	cvFigure    = 3
	countFigure = 5
)

// sentences sets the sentences about the figures.
func (h *herdPage) sentences() {
	least, most := h.extremes(peakFigure)
	if least == nil {
		if slices.ContainsFunc(h.Strategies, func(x herdPageStrategy) bool { return x.Figures != nil }) {
			h.Sentence = count(h.Jobs, "job fails", "jobs fail together") + ", and all retries come at once."
		}
		return
	}
	peak := func(x *herdPageStrategy) string {
		return fmt.Sprintf(" Under %s the peak is %s retries in %s, %s times the mean; in %s of the time no retry comes.",
			quoted(x.Title), x.Figures[countFigure].Text, h.Peak, x.Figures[peakFigure].Text, x.Figures[deadFigure].Text)
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
func (h *herdPage) extremes(figure int) (least, most *herdPageStrategy) {
	return extremes(h.Strategies, func(x *herdPageStrategy) (float64, bool) {
		if x.Figures == nil || x.Figures[peakFigure].Text == AtOnce {
			return 0, false
		}
		return x.Figures[figure].Value, true
	})
}

// draw sets the numbers of the charts and returns the longest wait; lines is the number of jobs that are drawn.
func (x *herdPageStrategy) draw(of *HerdResult, s *HerdStrategyResult, lines int) (longest time.Duration) {
	r := s.Herd
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
	x.Axis = newAxis(of.end(s))
	bin, counts, err := of.load(s)
	if err != nil {
		x.Note = err.Error()
		return longest
	}
	x.Bin, x.Load = Seconds(bin), rates(counts, bin)
	return longest
}

// figures returns the figures of the comparison.
func (r *HerdResult) figures(f *sim.Figures) []Term {
	cv := func(name string, x float64, help string) Term { return Term{name, fmt.Sprintf("%.2f", x), x, help} }
	return []Term{
		{"total", axis.Time(f.Total), f.Total.Seconds(), "the wait until a job's last retry, on average"},
		{"peak/mean", PeakText(f), f.PeakOverMean, "the most retries in " + axis.Time(r.PeakWindow) + ", over the mean"},
		{"dead", DeadText(f), f.DeadShare, "the share of windows of " + axis.Time(r.DeadWindow) + " without a retry"},
		cv("mean CV", f.MeanCV, "how much a wait varies from job to job: its standard deviation over its mean, on average over all waits"),
		cv("total CV", f.TotalCV, "how much the total wait varies from job to job"),
		{"peak", axis.Number(f.Peak), f.Peak, "the most retries in " + axis.Time(r.PeakWindow)},
		{"first wait", axis.Time(f.FirstMost), f.FirstMost.Seconds(), "the longest of all jobs"},
		{"p99", axis.Time(f.Totals.P99), f.Totals.P99.Seconds(), "the 99th percentile of the total"},
	}
}
