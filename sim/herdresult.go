package sim

import (
	"fmt"
	"slices"
	"time"
)

// Never is the time of what does not come, or not before the horizon.
const Never time.Duration = -1

// HerdResult is what became of a Herd. It is not changed by its methods, and safe for concurrent use.
type HerdResult struct {
	Jobs    int             `json:"jobs"` // computed: fewer than the Herd's if its context ended
	Retries int             `json:"retries"`
	Times   []time.Duration `json:"times,omitempty"` // the k-th retry of job j, both from 0, is Times[j·Retries+k]; Never past the horizon, or if the policy had given up
	End     time.Duration   `json:"end"`             // the last retry
}

// At returns the time of a job's retry, jobs counted from 0 and retries from 1: Never if it lies past the horizon, or
// the policy had given up. At panics if there is no such job or retry.
func (r *HerdResult) At(job, retry int) time.Duration {
	if job < 0 || job >= r.Jobs {
		panic(fmt.Sprintf("sim: At: job is %d, want 0 to %d", job, r.Jobs-1))
	}
	if retry < 1 || retry > r.Retries {
		panic(fmt.Sprintf("sim: At: retry is %d, want 1 to %d", retry, r.Retries))
	}
	return r.Times[job*r.Retries+retry-1]
}

// Waits returns how the single waits spread: the n-th entry, from 0, is of the waits of all jobs before their retry
// n+1, since the retry before it.
func (r *HerdResult) Waits() []Spread {
	return r.spreads(r.waits)
}

// Totals returns how the cumulative waits spread: the n-th entry, from 0, is of the times from the failure to the
// retry n+1 of all jobs.
func (r *HerdResult) Totals() []Spread { return r.spreads(r.totals) }

func (r *HerdResult) spreads(add func(k int, m *moments)) []Spread {
	s := make([]Spread, r.Retries)
	var m moments
	for k := range s {
		m.reset()
		add(k, &m)
		s[k] = m.spread()
	}
	return s
}

// waits adds the waits of all jobs before their retry k, from 0.
func (r *HerdResult) waits(k int, m *moments) {
	if k == 0 {
		r.totals(0, m)
		return
	}
	for job := range r.Jobs {
		if times := r.Times[job*r.Retries:]; times[k] != Never {
			m.add(int64(times[k] - times[k-1]))
		}
	}
}

// totals adds the times of the retries k, from 0, of all jobs.
func (r *HerdResult) totals(k int, m *moments) {
	for job := range r.Jobs {
		if at := r.Times[job*r.Retries+k]; at != Never {
			m.add(int64(at))
		}
	}
}

// lasts adds the time of each job's last retry.
func (r *HerdResult) lasts(m *moments) {
	for job := range r.Jobs {
		for _, at := range slices.Backward(r.Times[job*r.Retries:][:r.Retries]) {
			if at != Never {
				m.add(int64(at))
				break
			}
		}
	}
}
