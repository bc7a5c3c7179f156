package sim

import "context"

// OCCSample is what many runs of one OCC come to.
type OCCSample struct {
	Clients int    `json:"clients"`
	Runs    int    `json:"runs"`
	Calls   Counts `json:"calls"` // write calls of a run
	End     Spread `json:"end"`   // the last write reply of a run
}

// Sample runs o the given number of times, 1 to 2³¹-1, and returns how the results spread. The i-th run, from 0, is what Run gives
// with the Seed o.Seed+i. The errors are Run's; a sample that was stopped is of the runs that were finished.
func (o OCC) Sample(ctx context.Context, runs int) (OCCSample, error) {
	if err := o.check(runs); err != nil {
		return OCCSample{}, err
	}
	p := newPace(ctx, o.Progress, int64(runs))
	s, err := newRow(o).sample(runs, &p)
	if err == nil {
		p.end()
	}
	return s, err
}

// sample computes the runs, and counts each that is finished in p.
func (r *row) sample(runs int, p *pace) (OCCSample, error) {
	var calls, end moments
	var stopped error
	for i := range runs {
		var res OCCResult
		if cause := r.run(r.Seed+uint64(i), p, &res, false); cause != nil {
			stopped = &StoppedError{"OCC", cause, r.now, int64(i), int64(runs), "runs"}
			break
		}
		calls.add(res.Calls)
		end.add(int64(res.End))
		p.done++
	}
	return OCCSample{r.Clients, calls.count, calls.counts(), end.spread()}, stopped
}
