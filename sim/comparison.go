package sim

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Comparison puts several strategies to the same herd, and says in figures how they differ.
type Comparison struct {
	Strategies []Strategy `json:"strategies"`
	Jobs       int        `json:"jobs"`
	Retries    int        `json:"retries"`
	Runs       int        `json:"runs"` // every figure is the mean over this number of runs, with seeds from Seed on
	Seed       uint64     `json:"seed"`

	PeakWindow time.Duration `json:"peakWindow"` // the Window of Figures.PeakOverMean
	DeadWindow time.Duration `json:"deadWindow"` // the Window of Figures.DeadShare

	// Progress, if not nil, is told after each strategy's run how many are done, of how many, on the goroutine of Run.
	Progress func(done, total int64) `json:"-"`
}

// Figures are what a herd under one strategy comes to. Each is the mean over the Comparison's runs.
type Figures struct {
	Strategy
	Total        time.Duration `json:"total"`        // the cumulative wait to the last retry, the mean of all jobs
	TotalCV      float64       `json:"totalCV"`      // its coefficient of variation
	End          time.Duration `json:"end"`          // the last retry of all
	FirstMean    time.Duration `json:"firstMean"`    // the wait before the first retry, the mean of all jobs
	FirstMost    time.Duration `json:"firstMost"`    // the longest of them
	PeakOverMean float64       `json:"peakOverMean"` // the fullest PeakWindow over the mean one
	DeadShare    float64       `json:"deadShare"`    // the share of DeadWindows that hold no retry
	CV           []float64     `json:"cv"`           // the coefficient of variation of each single wait
	MeanCV       float64       `json:"meanCV"`       // the mean of CV
}

// Run computes the figures of each strategy, in their order.
//
// Its errors are a *FieldError, with no result, for a Comparison that cannot be run, and a *StoppedError with the
// figures of the strategies that were finished when ctx ended.
func (c Comparison) Run(ctx context.Context) ([]Figures, error) {
	check := checker{model: "Comparison"}
	check.count("Runs", c.Runs, 1, math.MaxInt32)
	check.duration("PeakWindow", c.PeakWindow, 1, never)
	check.duration("DeadWindow", c.DeadWindow, 1, never)
	check.herd(c.Jobs, c.Retries)
	for i, s := range c.Strategies {
		check.placement(fmt.Sprintf("Strategies[%d].Placement", i), s.Placement)
	}
	if check.err != nil {
		return nil, check.err
	}
	total := int64(len(c.Strategies)) * int64(c.Runs)
	done := int64(0)
	var all []Figures
	for _, s := range c.Strategies {
		sum := sums{cv: make([]float64, c.Retries)}
		for run := range c.Runs {
			h := Herd{Backoff: s.Backoff, Placement: s.Placement, Jobs: c.Jobs, Retries: c.Retries, Seed: c.Seed + uint64(run)}
			r, err := h.Run(ctx)
			if err != nil {
				return all, &StoppedError{"Comparison", err.(*StoppedError).Cause, 0, done, total, "runs"}
			}
			sum.add(r, c.PeakWindow, c.DeadWindow)
			done++
			if c.Progress != nil {
				c.Progress(done, total)
			}
		}
		all = append(all, sum.figures(s, c.Runs))
	}
	return all, nil
}

// sums are figures added up.
type sums struct {
	total, totalCV, end, firstMean, firstMost, peak, dead float64
	cv                                                    []float64
}

func (s *sums) add(r *HerdResult, peakWindow, deadWindow time.Duration) {
	waits, totals, times := r.Waits(), r.Totals(), r.sorted()
	last := totals[r.Retries-1]
	s.total += float64(last.Mean)
	s.totalCV += last.CV
	s.end += float64(r.End)
	s.firstMean += float64(waits[0].Mean)
	s.firstMost += float64(waits[0].Most)
	s.peak += r.window(times, peakWindow).PeakOverMean
	s.dead += r.window(times, deadWindow).DeadShare
	for k, w := range waits {
		s.cv[k] += w.CV
	}
}

func (s *sums) figures(strategy Strategy, runs int) Figures {
	n := float64(runs)
	f := Figures{
		Strategy: strategy,
		Total:    duration(s.total / n), TotalCV: s.totalCV / n, End: duration(s.end / n),
		FirstMean: duration(s.firstMean / n), FirstMost: duration(s.firstMost / n),
		PeakOverMean: s.peak / n, DeadShare: s.dead / n, CV: s.cv,
	}
	for k := range f.CV {
		f.CV[k] /= n
		f.MeanCV += f.CV[k] / float64(len(f.CV))
	}
	return f
}
