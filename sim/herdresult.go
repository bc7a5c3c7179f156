package sim

import (
	"fmt"
	"slices"
	"time"
)

// Never is the time of an event that does not happen, or not up to the horizon.
const Never time.Duration = -1

// HerdResult is the result of a Herd. Its methods do not change it, so it is safe for concurrent use.
type HerdResult struct {
	Jobs    int             `json:"jobs"` // the jobs that were computed: fewer than the Herd's if its context ended
	Retries int             `json:"retries"`
	Times   []time.Duration `json:"times,omitempty"` // Times[j·Retries+k] is retry k of job j, both from 0; Never past the horizon or after the policy gave up
	End     time.Duration   `json:"end"`             // the time of the last retry
}

// At returns the time of a job's retry. Jobs count from 0 and retries from 1. The time is Never past the horizon and
// after the policy gave up. At panics if there is no such job or retry.
func (r *HerdResult) At(job, retry int) time.Duration {
	if job < 0 || job >= r.Jobs {
		panic(fmt.Sprintf("sim: At: job is %d, want 0 to %d", job, r.Jobs-1))
	}
	if retry < 1 || retry > r.Retries {
		panic(fmt.Sprintf("sim: At: retry is %d, want 1 to %d", retry, r.Retries))
	}
	return r.Times[job*r.Retries+retry-1]
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
