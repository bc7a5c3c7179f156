package prove

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// program is a run of Target.Client.
type program struct {
	c    *check
	p    *proxy
	o    *outcome
	done chan struct{} // closed when it has returned

	// When it has returned:
	err      error
	panicked string

	mu     sync.Mutex
	frozen bool // values do not count any more
}

// start starts the program.
func (c *check) start(ctx context.Context, r Run, p *proxy, o *outcome) *program {
	run := &program{c: c, p: p, o: o, done: make(chan struct{})}
	go func() {
		defer close(run.done)
		defer func() {
			if v := recover(); v != nil {
				run.panicked = fmt.Sprint(v)
			}
		}()
		run.err = c.Client(ctx, r, run.got)
	}()
	return run
}

// got records a value.
func (r *program) got(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen {
		return
	}
	r.o.tally.Enter(value)
	if now := time.Now(); r.c.ref == nil {
		r.o.arrivals = append(r.o.arrivals, arrival{value, now})
	} else if r.without(value, now) {
		r.o.past = append(r.o.past, value)
	}
	r.p.delivered(value, r.c.ref != nil && r.c.allowed().Done(r.o.tally))
	r.p.wake()
}

// readAhead is how long after a break a value may come that was received before.
const readAhead = 300 * time.Millisecond

// without reports whether the value cannot have come through the proxy: every connection has been broken for a while,
// it was not in what has passed, and undisturbed it comes a while after the place of the break.
func (r *program) without(value string, now time.Time) bool {
	s := r.p.look()
	return s.made > 0 && !s.back && !s.working && now.Sub(s.brokenAt) > readAhead &&
		r.c.ref.after(value, r.o.since) > readAhead && !r.p.carried(value)
}

// freeze ends the recording of values.
func (r *program) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

// abandoned is how long a program that is late is waited for, beyond Stop.
const abandoned = 10 * time.Second

// stop waits for a program whose context has ended, and reports whether it has returned.
func (r *program) stop(within time.Duration) bool {
	select {
	case <-r.done:
		return true
	case <-time.After(within):
	}
	r.o.late = true
	r.p.note("the program has not returned in %v", within)
	r.p.close() // what waits for a reply may end then
	select {
	case <-r.done:
		return true
	case <-time.After(within + abandoned):
		return false
	}
}
