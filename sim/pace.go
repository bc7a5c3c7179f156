package sim

import (
	"context"
	"math"
	"time"
)

// steps is how much work lies between two looks at the context.
const steps = 1 << 12

// reports is how many looks lie between two reports of progress.
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

// step is called before each piece of work; it returns the context's cause once that has ended.
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

// end reports the last of the progress, if any was reported.
func (p *pace) end() {
	if p.reported {
		p.progress(p.done, p.total)
	}
}

// never is the time of what does not happen: past every horizon.
const never = time.Duration(math.MaxInt64)

// horizon is the last instant that a model looks at.
func horizon(h time.Duration) time.Duration {
	if h == 0 {
		return never - 1
	}
	return min(h, never-1)
}

// add is a+b for two that are not negative, at most never.
func add(a, b time.Duration) time.Duration {
	if c := a + b; c >= 0 {
		return c
	}
	return never
}
