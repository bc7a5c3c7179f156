package sim

import (
	"context"
	"math"
	"time"
)

// steps is the number of pieces of work between two looks at the context.
const steps = 1 << 12

// reports is the number of looks between two reports of progress.
const reports = 1 << 4

// pace stops a run when its context ends, and reports its progress.
type pace struct {
	ctx      context.Context
	progress func(done, total int64)
	total    int64
	done     int64 // of total; the run keeps it up to date
	steps    int   // left until the next look
	looks    int   // left until the next report
	reported bool
}

func newPace(ctx context.Context, progress func(done, total int64), total int64) pace {
	return pace{ctx: ctx, progress: progress, total: total, steps: 1, looks: reports}
}

// step is called before each piece of work. It returns the context's cause after the context has ended.
func (p *pace) step() error {
	p.steps--
	if p.steps > 0 {
		return nil
	}
	return p.look()
}

func (p *pace) look() error {
	p.steps = steps
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if p.progress == nil {
		return nil
	}
	p.looks--
	if p.looks == 0 {
		p.looks = reports
		p.reported = true
		p.progress(p.done, p.total)
	}
	return nil
}

// complete reports the final progress, if any progress was reported before.
func (p *pace) complete() {
	if p.reported {
		p.progress(p.done, p.total)
	}
}

// never is the time of an event that does not happen: it is past every horizon.
const never = time.Duration(math.MaxInt64)

// horizon returns the last instant that a model computes.
func horizon(h time.Duration) time.Duration {
	if h == 0 {
		return never - 1
	}
	return min(h, never-1)
}

// add returns a+b, at most never. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if c := a + b; c >= 0 {
		return c
	}
	return never
}
