package sim

import (
	"context"
	"math"
)

// OCCSample describes many runs of one OCC.
type OCCSample struct {
	Clients int    `json:"clients"`
	Runs    int    `json:"runs"`
	Calls   Counts `json:"calls"` // write calls of a run
	End     Spread `json:"end"`   // when the last reply to a write of a run arrived
}

// sampleAll samples each model with the given number of runs. After an error the last sample describes the finished
// runs of its model; the others are complete.
func sampleAll(ctx context.Context, all []OCC, runs int, progress func(done, total int64)) ([]OCCSample, error) {
	var (
		samples    []OCCSample
		calls, end moments
		done       int64
	)
	sample := func() {
		samples = append(samples, OCCSample{all[len(samples)].Clients, calls.count, calls.counts(), end.spread()})
		calls.reset()
		end.reset()
	}
	err := many[OCCResult]{
		n: len(all) * runs, progress: progress,
		weight: func(i int) float64 { return math.Pow(float64(all[i/runs].Clients), 1.5) }, // the number of calls is between n·log n and n²
		worker: func() computation[OCCResult] {
			var r *row
			of := -1
			return func(ctx context.Context, i int) (res OCCResult, err error) {
				if point := i / runs; point != of {
					of, r = point, newRow(all[point])
				}
				res.Clients = r.Clients
				p := newPace(ctx, nil, int64(r.Clients))
				if cause := r.run(r.Seed+uint64(i%runs), &p, &res, false); cause != nil {
					err = &StoppedError{Cause: cause, At: r.now}
				}
				return res, err
			}
		},
		merge: func(i int, res OCCResult) {
			calls.add(res.Calls)
			end.add(int64(res.End))
			if done++; (i+1)%runs == 0 {
				sample()
			}
		},
	}.run(ctx)
	if err != nil {
		sample()
		at := err.(*StoppedError)
		err = &StoppedError{"Sweep", at.Cause, at.At, done, int64(len(all)) * int64(runs), "runs"}
	}
	return samples, err
}
