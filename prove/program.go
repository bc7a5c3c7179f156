package prove

import (
	"fmt"
	"slices"
	"time"
)

// program is a program that was started.
type program struct {
	done     chan struct{} // closed when it has returned; then err and panicked are known
	err      error
	panicked string
}

// start starts a program.
func start(run func() error) *program {
	p := &program{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer func() {
			if v := recover(); v != nil {
				p.panicked = fmt.Sprint(v)
			}
		}()
		p.err = run()
	}()
	return p
}

// returns reports whether the program returns within d.
func (p *program) returns(k *clock, d time.Duration) bool {
	return k.until(d, func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
}

// got records a value.
func (o *outcome) got(value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.frozen {
		return
	}
	o.tally.Enter(value)
	if now := o.c.clock.now(); o.c.ref.values == nil {
		o.arrivals = append(o.arrivals, now)
	} else if o.without(value, now) {
		o.past = append(o.past, value)
	}
	o.p.delivered(value, o.c.ref.values != nil && o.c.allowed.Done(o.tally))
	o.p.news.Tell()
}

// without reports whether the value cannot have come through the proxy: every connection has been broken for a while,
// it was not in what has passed, and undisturbed it comes a while after the place of the break.
func (o *outcome) without(value string, now time.Time) bool {
	s := o.p.look()
	if s.made == 0 || s.back || s.working || now.Sub(s.brokenAt) <= readAhead {
		return false
	}
	i := slices.Index(o.c.ref.values, any(value))
	return i >= 0 && o.c.ref.came[i].Sub(o.since) > readAhead && !o.p.carried(value)
}

// abandoned is how long a program that is late is waited for, beyond Stop.
const abandoned = 10 * time.Second

// stop waits for a program whose context has ended, and reports whether it has returned.
func (o *outcome) stop() bool {
	if o.returns(o.c.clock, o.c.Stop) {
		return true
	}
	o.late = true
	o.p.note("the program has not returned in %v", o.c.Stop)
	o.p.close() // what waits for a reply may end then
	return o.returns(o.c.clock, o.c.Stop+abandoned)
}
