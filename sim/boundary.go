package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Boundary is an Overload at several loads, for several kinds of callers. It finds the highest load from which the
// server recovers: within Soon of the Trigger's end.
type Boundary struct {
	Overload Overload  `json:"overload"` // its Load, Trace, Layers and Progress are ignored; run i of a point has the seed Seed+i
	Callers  []Callers `json:"callers"`
	Loads    []float64 `json:"loads"` // operations a second, increasing; ignored, except for their number, if the Overload has Loops
	Runs     int       `json:"runs"`  // for each point

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the work done in millionths.
	Progress func(done, total int64) `json:"-"`
}

// Callers are the layers of an Overload, with their name in tables and charts.
type Callers struct {
	Name   string  `json:"name"`
	Layers []Layer `json:"layers"`
}

// BoundaryResult is the result of a Boundary.
type BoundaryResult struct {
	Points []BoundaryPoint `json:"points"` // all Loads for the first Callers, then for the next

	// Highest holds, for each of the Callers, the highest of the Loads from which the server recovered in every run, as
	// it did from all lower ones. It is 0 if there is none.
	Highest []float64 `json:"highest"`
}

// BoundaryPoint is the result of the runs of one kind of callers at one load.
type BoundaryPoint struct {
	Callers       string   `json:"callers"`
	Load          float64  `json:"load"`
	Runs          int      `json:"runs"`                // that were computed
	Recovered     int      `json:"recovered"`           // the runs in which the server recovered
	Late          int      `json:"late"`                // the runs in which it recovered late
	Unhealthy     int      `json:"unhealthy,omitempty"` // the runs in which it was not healthy before the Trigger
	After         Spread   `json:"after"`               // the Recovery.After of the runs in which it recovered
	Median        int      `json:"median"`              // the run with the median time to recovery; that of no recovery is the longest
	Amplification Estimate `json:"amplification"`
	Succeeded     Estimate `json:"succeeded"` // the share of the operations that succeeded
}

// Run computes the points.
//
// It returns a *FieldError and no result for a Boundary that cannot be run. It returns a *StoppedError with the
// finished points, and the finished runs of the next one, when ctx ends, or when callers retry endlessly at one instant (ErrStuck).
func (b Boundary) Run(ctx context.Context) (*BoundaryResult, error) {
	c := checker{model: "Boundary"}
	c.count("Runs", b.Runs, 1, math.MaxInt32)
	c.count("len(Callers)", len(b.Callers), 1, maxClients)
	c.count("len(Loads)", len(b.Loads), 1, maxClients)
	for i := 1; i < len(b.Loads); i++ {
		if !(b.Loads[i] > b.Loads[i-1]) {
			c.fail(fmt.Sprintf("Loads[%d]", i), b.Loads[i], fmt.Sprintf("more than the one before it, %v", b.Loads[i-1]))
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	for _, callers := range b.Callers {
		for _, load := range []float64{b.Loads[0], b.Loads[len(b.Loads)-1]} {
			o := b.overload(callers, load, 0)
			if err := o.check(); err != nil {
				field := err.(*FieldError)
				return nil, &FieldError{"Boundary", field.Field, field.Value, field.Want}
			}
		}
	}
	var (
		r     = &BoundaryResult{Points: []BoundaryPoint{}, Highest: make([]float64, len(b.Callers))}
		done  int64
		point struct{ after, amplification, succeeded moments }
		times []time.Duration // to recovery
		next  = BoundaryPoint{}
		n     = len(b.Callers) * len(b.Loads) * b.Runs
		of    = func(i int) (Callers, float64, int) {
			point := i / b.Runs
			return b.Callers[point/len(b.Loads)], b.Loads[point%len(b.Loads)], i % b.Runs
		}
	)
	finish := func() {
		next.Runs = len(times)
		next.After, next.Amplification, next.Succeeded = point.after.spread(), point.amplification.estimate(), point.succeeded.estimate()
		next.Median = median(times)
		r.Points, times = append(r.Points, next), times[:0]
		point.after.reset()
		point.amplification.reset()
		point.succeeded.reset()
	}
	err := many[*OverloadResult]{
		n: n, progress: b.Progress,
		weight: func(i int) float64 { _, load, _ := of(i); return load },
		worker: func() computation[*OverloadResult] {
			return func(ctx context.Context, i int) (*OverloadResult, error) { return b.overload(of(i)).Run(ctx) }
		},
		merge: func(i int, x *OverloadResult) {
			done++
			callers, load, run := of(i)
			if run == 0 {
				next = BoundaryPoint{Callers: callers.Name, Load: load}
			}
			took := x.Recovery.After
			switch x.Recovery.Verdict {
			case Recovered:
				next.Recovered++
				point.after.add(int64(took))
			case RecoveredLate:
				next.Late++
			case UnhealthyBefore:
				next.Unhealthy++
				took = never
			default:
				took = never
			}
			times = append(times, took)
			point.amplification.addFigure(x.Amplification)
			point.succeeded.addFigure(float64(x.Succeeded) / float64(max(x.Operations, 1)))
			if run == b.Runs-1 {
				finish()
			}
		},
	}.run(ctx)
	if len(times) > 0 { // the runs of a point that are done
		finish()
	}
	for i := range b.Callers {
		points := r.Points[min(i*len(b.Loads), len(r.Points)):min((i+1)*len(b.Loads), len(r.Points))]
		lost := slices.IndexFunc(points, func(p BoundaryPoint) bool { return p.Recovered < b.Runs })
		if lost < 0 {
			lost = len(points)
		}
		if lost > 0 {
			r.Highest[i] = points[lost-1].Load
		}
	}
	if stopped, ok := errors.AsType[*StoppedError](err); ok {
		return r, &StoppedError{"Boundary", stopped.Cause, stopped.At, done, int64(n), "runs"}
	}
	return r, err
}

// median returns the index of the median, the higher one of two.
func median(all []time.Duration) int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i], all[j]) })
	return order[len(order)/2]
}

// overload returns the Overload of one run.
func (b *Boundary) overload(callers Callers, load float64, run int) Overload {
	o := b.Overload
	o.Layers, o.Load, o.Trace, o.Seed, o.Progress = callers.Layers, load, nil, o.Seed+uint64(run), nil
	if o.Loops > 0 {
		o.Load = 0
	}
	return o
}
