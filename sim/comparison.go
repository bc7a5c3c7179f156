package sim

import (
	"context"
	"math"
	"time"
)

// Comparison runs the same herd under several strategies and returns figures for each.
type Comparison struct {
	Strategies []Strategy `json:"strategies"`
	Jobs       int        `json:"jobs"`
	Retries    int        `json:"retries"`
	Runs       int        `json:"runs"` // every figure is the mean over this number of runs, whose seeds are Seed, Seed+1, …
	Seed       uint64     `json:"seed"`

	PeakWindow time.Duration `json:"peakWindow"` // the width of the window of Figures.PeakOverMean
	DeadWindow time.Duration `json:"deadWindow"` // that of Figures.DeadShare

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the work done in millionths.
	Progress func(done, total int64) `json:"-"`
}

// Figures describe a herd under one strategy. Each is the mean over the Comparison's runs.
type Figures struct {
	Strategy
	Total        time.Duration `json:"total"`        // the cumulative wait until a job's last retry, the mean of all jobs
	TotalCV      float64       `json:"totalCV"`      // its coefficient of variation
	End          time.Duration `json:"end"`          // the time of the last retry of all jobs
	FirstMost    time.Duration `json:"firstMost"`    // the longest wait before the first retry
	Peak         float64       `json:"peak"`         // the most retries in any PeakWindow
	PeakOverMean float64       `json:"peakOverMean"` // the fullest PeakWindow over the mean
	DeadShare    float64       `json:"deadShare"`    // the share of DeadWindows that hold no retry
	CV           []float64     `json:"cv"`           // the coefficient of variation of each single wait that a job had
	MeanCV       float64       `json:"meanCV"`       // the mean of CV
	Totals       Spread        `json:"totals"`       // the cumulative waits until the last retry, of all jobs of all runs
}

// Run computes the figures of each strategy, in their order.
//
// It returns a *FieldError and no result for a Comparison that cannot be run, and a *StoppedError with the figures of
// the finished strategies when ctx ends, or when a retry is past the largest Duration (ErrHorizon).
func (c Comparison) Run(ctx context.Context) ([]Figures, error) {
	check := checker{model: "Comparison"}
	check.count("Runs", c.Runs, 1, math.MaxInt32)
	check.duration("PeakWindow", c.PeakWindow, 1, never)
	check.duration("DeadWindow", c.DeadWindow, 1, never)
	check.herd(c.Jobs, c.Retries)
	check.strategies(c.Strategies)
	if check.err != nil {
		return nil, check.err
	}
	var (
		all  []Figures
		sum  sums
		done int64
	)
	err := many[*herdFigures]{
		n: len(c.Strategies) * c.Runs, progress: c.Progress,
		worker: func() computation[*herdFigures] {
			return func(ctx context.Context, i int) (*herdFigures, error) {
				s := c.Strategies[i/c.Runs]
				h := Herd{Policy: s.Policy, Placement: s.Placement, Processes: s.Processes, Jobs: c.Jobs, Retries: c.Retries, Seed: c.Seed + uint64(i%c.Runs)}
				result, err := h.Run(ctx)
				if err != nil {
					return nil, err
				}
				return result.figures(c.PeakWindow, c.DeadWindow), nil
			}
		},
		merge: func(i int, f *herdFigures) {
			if i%c.Runs == 0 {
				sum = sums{cv: make([]float64, c.Retries)}
			}
			sum.add(f)
			if done++; (i+1)%c.Runs == 0 {
				all = append(all, sum.figures(c.Strategies[i/c.Runs], c.Runs))
			}
		},
	}.run(ctx)
	if err != nil {
		return all, &StoppedError{"Comparison", err.(*StoppedError).Cause, 0, done, int64(len(c.Strategies)) * int64(c.Runs), "runs"}
	}
	return all, nil
}

// herdFigures are the figures of one run.
type herdFigures struct {
	total      moments
	firstMost  int64
	end        time.Duration
	most       int64
	peak, dead float64
	cv         []float64
	waits      int // the most retries of a job
}

func (r *HerdResult) figures(peakWindow, deadWindow time.Duration) *herdFigures {
	f := &herdFigures{end: r.End, cv: make([]float64, r.Retries)}
	var m moments
	for k := range f.cv {
		m.reset()
		if r.waits(k, &m); m.count > 0 {
			f.waits = k + 1
			f.cv[k] = m.spread().CV
			if k == 0 {
				f.firstMost = m.most
			}
		}
	}
	r.lasts(&f.total)
	times := r.sorted()
	f.most, f.peak, _ = r.window(times, peakWindow)
	_, _, f.dead = r.window(times, deadWindow)
	return f
}

// sums adds up the figures of several runs.
type sums struct {
	total, totalCV, end, firstMost, most, peak, dead float64
	cv                                               []float64
	waits                                            int
	totals                                           moments
}

func (s *sums) add(f *herdFigures) {
	total := f.total.spread()
	s.total += float64(total.Mean)
	s.totalCV += total.CV
	s.end += float64(f.end)
	s.firstMost += float64(f.firstMost)
	s.most += float64(f.most)
	s.peak += f.peak
	s.dead += f.dead
	for k, cv := range f.cv {
		s.cv[k] += cv
	}
	s.waits = max(s.waits, f.waits)
	s.totals.merge(&f.total)
}

func (s *sums) figures(strategy Strategy, runs int) Figures {
	n := float64(runs)
	f := Figures{
		Strategy: strategy,
		Total:    duration(s.total / n), TotalCV: s.totalCV / n, End: duration(s.end / n),
		FirstMost: duration(s.firstMost / n), Peak: s.most / n, PeakOverMean: s.peak / n, DeadShare: s.dead / n, CV: s.cv[:s.waits],
		Totals: s.totals.spread(),
	}
	for k := range f.CV {
		f.CV[k] /= n
		f.MeanCV += f.CV[k] / float64(len(f.CV))
	}
	return f
}
