package reconnecttest

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
)

// clientFunc runs a client until ctx ends, or until got returns false.
type clientFunc func(ctx context.Context, got func(v any) bool) error

// outcome is what a run of a client has shown.
type outcome struct {
	scenario
	*judge.Tally
	net    record       // until the context ended
	second *judge.Tally // of the second run

	ended    bool // by itself
	err      error
	panicked string
	late     []virtual.Goroutine // the client, a second after the end of its context
	left     []virtual.Goroutine
	grown    []virtual.Goroutine // what ran after an hour of attempts
	unclosed int                 // connections that it has not closed
	past     []any               // values that came after yield had returned false
	timely   bool                // values came with time
	timeline []string

	stuck []virtual.Goroutine // the bubble; the rest is what was known then
	spins bool
	deaf  bool // it reads a silent connection without a deadline
}

// oneAtATime is held while a client that dials runs, so that tests in parallel do not share its pools.
var oneAtATime sync.Mutex

// play runs the client through a scenario, in a bubble of its own.
func (c *check) play(t *testing.T, sc scenario) *outcome {
	if c.dials {
		// A timer of another bubble, from a pool of the client's, would end the process. The second collection empties
		// what the first one has kept. Streams have no such pools.
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		runtime.GC()
		runtime.GC()
	}
	sc.noun = c.noun
	n := &network{scenario: sc}
	inBubble := &outcome{scenario: sc, Tally: judge.NewTally(c.ref, func() int { return n.soFar().units - 1 })}
	stuck, spins := virtual.Try(t, func(b *virtual.Bubble, seen func()) {
		n.news, n.seen, n.timeline = make(chan struct{}, 1), seen, judge.NewTimeline(1)
		inBubble.playIn(b, c, n)
	})
	o := inBubble
	if stuck != nil { // the bubble may still write to its outcome
		n.doomed.Store(true)
		o = &outcome{scenario: sc, Tally: o.Tally, stuck: stuck, spins: spins, net: n.soFar(), deaf: !spins && n.deaf(n.own(stuck))}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o.timeline = n.timeline.Lines()
	return o
}

func (o *outcome) playIn(b *virtual.Bubble, c *check, n *network) {
	ctx, cancel := context.WithCancelCause(b.Context)
	defer cancel(nil)
	defer n.stop()
	client, stop := c.begin(b, n)
	defer stop()
	r := client.start(ctx, o.consumer(n, o.Tally, cancel))
	w := &waiting{net: n, clientRun: r, own: func() []virtual.Goroutine {
		return slices.DeleteFunc(n.own(b.Running()), httpDials)
	}}
	o.until(c, w, cancel)
	if r.within(0) {
		o.ended, o.err, o.panicked = o.stop == 0 && ctx.Err() == nil, r.err, r.panicked
	}
	if o.stop > 0 && r.within(prompt) && len(o.past) == 0 {
		o.second = judge.NewTally(c.ref, nil)
		w.clientRun = client.start(ctx, o.consumer(n, o.second, cancel))
		r = w.clientRun
		w.until(c.took+recovery, o.second.Complete)
		o.err = nil
		if r.within(0) {
			o.err = r.err
		}
	}
	if o.hour() {
		synctest.Wait()
		o.grown = w.own()
	}
	if c.ref != nil && !c.Done(o.Tally) && !o.ended && !o.ending() {
		w.show()
	}
	o.net = n.soFar()
	cancel(errCause)
	o.finish(b, w)
}

// httpDials reports whether g is a dial of net/http's. A Transport goes on with it when its request has ended, and closes
// the connection then.
func httpDials(g virtual.Goroutine) bool {
	return slices.ContainsFunc(g.Calls, func(c goroutine.Call) bool { return strings.HasPrefix(c.Function, "net/http.(*Transport).dial") })
}

// finish looks at what is left when the context has ended.
func (o *outcome) finish(b *virtual.Bubble, w *waiting) {
	if !w.within(prompt) {
		o.late = []virtual.Goroutine{b.Goroutine(w.id)}
		w.show()
		w.net.stop()
		w.within(time.Hour) // until it dials, so that it does not stay when the bubble has ended
		return
	}
	synctest.Wait()
	unclosed := func() int { return w.net.soFar().unclosed }
	if unclosed() == 0 && (!o.ending() || len(w.own()) == 0) {
		return
	}
	time.Sleep(prompt)
	synctest.Wait()
	o.left, o.unclosed = w.own(), unclosed()
	if len(o.left) > 0 {
		w.show()
		time.Sleep(time.Hour) // what only sleeps ends
	}
}

// consumer returns the consumer of the client's values.
func (o *outcome) consumer(n *network, t *judge.Tally, cancel context.CancelCauseFunc) func(v any) bool {
	stopped := false // a stream yields on one goroutine
	return func(v any) bool {
		if stopped {
			o.past = append(o.past, v)
			return false
		}
		number := t.Enter(v)
		first := t == o.Tally
		if first && number == o.busy {
			time.AfterFunc(shortLife, func() { n.breakAll(cut) })
			time.Sleep(slowness)
		}
		if first && number == o.cancel {
			cancel(errCause)
		}
		n.delivered(v)
		stopped = first && number == o.stop
		return !stopped
	}
}

// until lets time pass until the scenario is over.
func (o *outcome) until(c *check, w *waiting, cancel context.CancelCauseFunc) {
	most := o.most(c)
	soFar := w.net.soFar
	switch {
	case c.ref == nil:
		o.undisturbed(c, w)
	case o.cancelIn > 0:
		if w.until(most, func() bool { return soFar().breaks > 0 && (o.mute == 0 || soFar().unanswered > 0) }) && !w.within(o.cancelIn) {
			cancel(errCause)
		}
	case o.cancel > 0 || o.stop > 0:
		number := max(o.cancel, o.stop)
		w.until(most, func() bool { return o.Count() >= number })
	case o.gone > 0:
		from := c.first(o.gone)
		if w.until(time.Hour, func() bool { return len(o.Lost(from)) == 0 }) {
			w.within(watching)
		}
	case o.flaps && o.after > 0:
		w.until(most, func() bool { r := soFar(); return r.cuts == flaps && r.connected })
		w.within(2 * worked)
	case o.afterwards > 0 && o.at < 0:
		if !w.until(most, func() bool { return c.Done(o.Tally) }) || w.within(o.afterwards) {
			return
		}
		w.net.breakAll(o.fate)
		fallthrough
	default:
		breaks := o.fate != unbroken || o.busy > 0
		for w.until(most, func() bool { return c.Done(o.Tally) && (!breaks || soFar().back) }) {
			if n := soFar().breaks; w.within(watching) || soFar().breaks == n {
				return
			}
		}
	}
}

// undisturbed lets time pass until the client has delivered all that there is, and then watches for what comes with
// time.
func (o *outcome) undisturbed(c *check, w *waiting) {
	start := time.Now()
	read, ended := false, false
	for most := time.Hour + 2*time.Duration(c.units)*eventPace; !read && !ended && time.Since(start) < most; {
		read = c.dials && o.Quiet(start) >= 20*time.Second || !c.dials && w.net.soFar().units == c.units
		ended = w.within(time.Second)
	}
	values := o.Count()
	if took := time.Since(start) - o.Quiet(start); read || ended {
		w.net.complete(values, took)
	}
	if !ended {
		w.within(2*idlePause + time.Second)
		o.timely = o.Count() > values
	}
}

// clientRun is a client that runs on its own goroutine.
type clientRun struct {
	done     chan struct{}
	id       int
	err      error
	panicked string
}

// start starts the client.
func (c clientFunc) start(ctx context.Context, got func(v any) bool) *clientRun {
	r := &clientRun{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() {
			if v := recover(); v != nil {
				r.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		r.id = goroutine.Current().ID
		r.err = c(ctx, got)
	}()
	return r
}

// within reports whether the client returns within d.
func (r *clientRun) within(d time.Duration) bool {
	select {
	case <-r.done:
	case <-time.After(d):
		synctest.Wait()
	}
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// waiting lets time pass while a client runs.
type waiting struct {
	net *network
	*clientRun
	own   func() []virtual.Goroutine // the client's goroutines
	shown int                        // how often something has happened
}

// mostShown is how often a timeline gets what the client waits for: that takes time, and long timelines are shortened.
const mostShown = 200

// until lets time pass until the condition holds, and reports whether it does. It waits no more when the client returns,
// is a hot loop, or d is over.
func (w *waiting) until(d time.Duration, condition func() bool) bool {
	timeout := time.After(d)
	for !condition() {
		select {
		case <-w.net.news:
			if w.net.soFar().hot != "" {
				return false
			}
			if w.shown++; w.net.alone && w.shown < mostShown {
				w.show()
			}
		case <-w.done:
			return condition()
		case <-timeout:
			return false
		}
	}
	return true
}

// show writes into the timeline what the client waits for.
func (w *waiting) show() {
	synctest.Wait()
	all := w.own()
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for _, wait := range virtual.Waits(all) {
		w.net.timeline.Note("%s", wait)
	}
}
