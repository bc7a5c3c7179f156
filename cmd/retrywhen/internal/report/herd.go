package report

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

// ErrNoRetry is the error for a policy whose limit is 0.
var ErrNoRetry = errors.New("limit=0 allows no retry")

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

// DefaultHerd returns the default of the command: the comparison of "Visualization of backoff functions", with an answer
// to its open question.
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
	Own        bool                 `json:"-"` // each strategy has its own time axis
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
	Err     error           `json:"-"`                 // why something is missing: ErrNoRetry, or a *sim.StoppedError
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
			Strategies: []sim.Strategy{Used(h, x.Policy).Sim()}, Jobs: h.Jobs, Retries: x.Herd.Retries, Runs: r.Runs, Seed: h.Seed,
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
	for _, s := range h.Strategies {
		x := HerdStrategyResult{Name: s.Title(), Policy: s}
		retries := h.Retries
		if limit, ok := s.Policy.Limit(); ok {
			retries = min(retries, limit)
		}
		if retries == 0 && h.Retries > 0 {
			x.Err, x.Note = ErrNoRetry, note(ErrNoRetry)
			r.Strategies = append(r.Strategies, x)
			continue
		}
		herd, err := sim.Herd{
			Policy: Used(h, s).Policy, Placement: s.Placement, Processes: s.Processes, Jobs: h.Jobs, Retries: retries, Seed: h.Seed, Horizon: h.Horizon,
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
			return r, err
		}
		if herd.End > 0 && (shortest == 0 || herd.End < shortest) {
			shortest = herd.End
		}
	}
	r.Own = r.End() > mostEnds*max(shortest, 1)
	r.PeakWindow = max(axis.Step(shortest, 600), 1)
	r.DeadWindow = max(axis.Step(shortest, h.Jobs*h.Retries/3), 1) // at random times about one in twenty windows is empty
	return r, nil
}

// AtOnce is the text of the peak over the mean when all retries come at one instant.
const AtOnce = "all at once"

// PeakText returns the peak over the mean as a text.
func PeakText(f *sim.Figures) string {
	if f.End == 0 {
		return AtOnce
	}
	return axis.Number(f.PeakOverMean)
}

// DeadText returns the share of dead time as a text, "-" for a herd that takes no time.
func DeadText(f *sim.Figures) string {
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

// mostEnds is the maximum ratio between the ends of herds on one time axis: the chart of a shorter herd would be too
// narrow.
const mostEnds = 3

// end returns the end of x's time axis.
func (r *HerdResult) end(x *HerdStrategyResult) time.Duration {
	if r.Own {
		return x.Herd.End
	}
	return r.End()
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

// barBin returns the width of the bars of the chart that ends at end, next to others with these ends. It is one for all,
// so that their heights can be compared, unless the longest one would then have too many bars, or the shortest too few.
func barBin(end time.Duration, all []time.Duration) time.Duration {
	const most, least = 1500, 10
	var shortest, longest time.Duration
	for _, end := range all {
		longest = max(longest, end)
		if end > 0 && (shortest == 0 || end < shortest) {
			shortest = end
		}
	}
	if longest == 0 { // all at once
		return time.Second
	}
	if bin := max(ChartBin(shortest), axis.Step(longest, most)); bin <= shortest/least {
		return bin
	}
	return ChartBin(end)
}

// ChartBin returns the width of the bars of a chart that ends at end.
func ChartBin(end time.Duration) time.Duration {
	const bars = 150
	return max(axis.Step(end, bars), 1)
}
