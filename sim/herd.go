package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// maxRetries is the most retries of a Herd, all jobs together: their times take 8 bytes each.
const maxRetries = 100_000_000

// Herd is a set of jobs that fail together at time 0. Each is retried Retries times, or until its Policy gives up.
// Every retry fails at once: the time between two retries is exactly the Policy's delay. The result is the load that a
// backoff puts on a server that stays down. If the Policy has a budget, the jobs spend it one after the other.
type Herd struct {
	Policy    retry.Policy `json:"policy"`
	Placement Placement    `json:"placement,omitempty"`
	Processes int          `json:"processes"` // that the jobs are divided among; 0 is one, at most 10,000
	Jobs      int          `json:"jobs"`      // at least 1
	Retries   int          `json:"retries"`   // the maximum for each job, at least 1; Jobs·Retries is at most 100,000,000
	Seed      uint64       `json:"seed"`

	// Horizon is the last instant at which a retry counts; 0 is none.
	Horizon time.Duration `json:"horizon"`

	// Progress, if not nil, is called now and then, on the goroutine of Run, with the number of retries that are computed
	// and the total. A short run never calls it.
	Progress func(done, total int64) `json:"-"`
}

// Run computes the time of every retry. The same Herd gives the same result.
//
// It returns a *FieldError and no result for a Herd that cannot be run. It returns a *StoppedError with the result so
// far when there are retries after the Horizon (then with all retries up to it), or when ctx ends (then with the jobs
// that are finished).
func (h Herd) Run(ctx context.Context) (*HerdResult, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	total := int64(h.Jobs) * int64(h.Retries)
	r := &HerdResult{Jobs: h.Jobs, Retries: h.Retries, Times: make([]time.Duration, total)}
	all := newOperations(h.Policy, h.Placement, h.Processes, newRand(h.Seed))
	p := newPace(ctx, h.Progress, total)
	last := horizon(h.Horizon)
	late := 0
	for job := range h.Jobs {
		times := r.Times[job*h.Retries:][:h.Retries]
		o := operation{policy: all.of(job)}
		var now, end time.Duration
		for k := range times {
			p.done = int64(job*h.Retries + k)
			if cause := p.step(); cause != nil {
				// The current job is not finished, so it is not in the result.
				r.Jobs, r.Times = job, r.Times[:job*h.Retries]
				return r, &StoppedError{Model: "Herd", Cause: cause, Done: int64(len(r.Times)), Total: total, Unit: "retries"}
			}
			wait, err := o.fail(errFailed, 0, now)
			if err != nil {
				for ; k < h.Retries; k++ {
					times[k] = Never
				}
				break
			}
			now = add(now, wait) // past the horizon too: the draws before it must not depend on it
			if now > last {
				times[k] = Never
				late++
				continue
			}
			times[k] = now
			end = now
		}
		r.End = max(r.End, end)
	}
	p.done = total
	p.end()
	if late > 0 {
		return r, &StoppedError{"Herd", ErrHorizon, last, total - int64(late), total, "retries"}
	}
	return r, nil
}

func (h *Herd) check() error {
	c := checker{model: "Herd"}
	c.herd(h.Jobs, h.Retries)
	c.placed("", h.Placement, h.Processes)
	c.notNegative("Horizon", h.Horizon)
	return c.err
}

// herd checks the size of a herd.
func (c *checker) herd(jobs, retries int) {
	c.count("Jobs", jobs, 1, maxRetries)
	c.count("Retries", retries, 1, maxRetries)
	if c.err == nil && int64(jobs)*int64(retries) > maxRetries {
		c.fail("Jobs·Retries", int64(jobs)*int64(retries), fmt.Sprintf("at most %d", maxRetries))
	}
}
