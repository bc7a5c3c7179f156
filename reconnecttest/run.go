package reconnecttest

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
)

// clientFunc runs a client until ctx ends, or until got returns false.
type clientFunc func(ctx context.Context, got func(v any) bool) error

// outcome is what a run of a client has shown.
type outcome struct {
	scenario
	*judge.Tally
	record record       // until the context ended
	second *judge.Tally // of the second run

	ended     bool // by itself
	err       error
	panicked  string
	late      []virtual.Goroutine // the client, a second after the end of its context, or after its consumer stopped
	left      []virtual.Goroutine
	grown     []virtual.Goroutine // what ran at the end of the undisturbed run, or after an hour of attempts, or at the last count
	counts    []int               // of goroutines, after each connection that flapped, or with each of the undisturbed run
	unclosed  int                 // connections that it has not closed
	redialled time.Duration       // so long after its end it has dialled again
	past      []any               // values that came after yield had returned false
	timely    bool                // values came with time, which cannot be compared
	timeline  []string

	stuck []virtual.Goroutine // the bubble; the rest is what was known then
	spins bool
	deaf  bool // it reads a silent connection without a deadline

	deafened bool // it has not noticed that a connection that flaps is silent
}

// clientLabel is the label of the goroutines that a client starts, and clients numbers those that dial.
const clientLabel = "retrywhen/reconnecttest"

var clients atomic.Int64

// oneAtATime is held while a client that dials runs, so that tests in parallel do not share its pools.
var oneAtATime sync.Mutex

// emptyPools lets three collections happen: the first one may have begun before, and the third one frees what a sync.Pool
// has kept in the second one. It does not call runtime.GC twice, which also yields the processor for each span until all
// are swept, and takes longer.
func emptyPools() {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var garbage atomic.Pointer[[32 << 10]byte] // so that it is on the heap
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	for end := cycles[0].Value.Uint64() + 3; cycles[0].Value.Uint64() < end; metrics.Read(cycles) {
		garbage.Store(new([32 << 10]byte))
	}
}

// play runs the client through a scenario.
func (c *check) play(t *testing.T, sc scenario) *outcome {
	sc.noun = c.noun
	return c.inBubble(t, sc, func(s *session) {
		client, stop := c.begin(s.bubble, s.network)
		defer stop()
		s.client = client
		s.play()
		s.network.stop()
		time.Sleep(time.Hour) // what only sleeps ends
	})
}

// inBubble calls f with the session of a scenario, in a bubble of its own.
func (c *check) inBubble(t *testing.T, sc scenario, f func(s *session)) *outcome {
	n := &network{scenario: sc, polls: c.polls}
	if c.dials {
		// A timer of another bubble, from a pool of the client's, would end the process. Streams have no such pools.
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		emptyPools()
		n.label = strconv.FormatInt(clients.Add(1), 10)
	}
	o := &outcome{scenario: sc, Tally: judge.NewTally(c.ref, func() int { return n.soFar().units - 1 })}
	stuck, spins := virtual.Try(t, func(b *virtual.Bubble, seen func()) {
		n.news, n.seen, n.timeline = judge.NewNews(), seen, judge.NewTimeline(1)
		s := &session{outcome: o, check: c, bubble: b, network: n}
		s.ctx, s.cancel = context.WithCancelCause(b.Context)
		defer s.cancel(nil)
		f(s)
	})
	if stuck != nil { // the bubble may still write to its outcome
		n.doomed.Store(true)
		o = &outcome{scenario: sc, Tally: o.Tally, stuck: stuck, spins: spins, record: n.soFar(), deaf: !spins && n.deaf(n.own(stuck))}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o.timeline = n.timeline.Lines()
	return o
}

// session plays a scenario with a client in a bubble, and takes the outcome down.
type session struct {
	*outcome
	check   *check
	bubble  *virtual.Bubble
	network *network
	client  clientFunc
	ctx     context.Context
	cancel  context.CancelCauseFunc
	run     *clientRun // the last one
	shown   int        // how often something has happened
	waits   string     // what the client waited for, in the timeline
	turns   int        // connections that were made, or have flapped, at the last count
}

// clientRun is a client that runs on its own goroutine.
type clientRun struct {
	done     chan struct{} // closed when it has returned; then err and panicked are known
	id       int           // of the goroutine
	err      error
	panicked string
}

func (s *session) play() {
	s.start(s.Tally)
	s.await()
	switch {
	case s.stopAt == 0:
	case !s.within(prompt):
		if s.Count() >= s.stopAt { // else yield has not returned false
			s.late = []virtual.Goroutine{s.bubble.Goroutine(s.run.id)}
		}
	case len(s.past) == 0 && s.run.panicked == "":
		s.second = judge.NewTally(s.check.ref, nil)
		s.start(s.second)
		s.until(s.check.took+recovery, s.second.Complete)
	}
	if s.within(0) {
		s.ended, s.err, s.panicked = s.stopAt == 0 && s.ctx.Err() == nil, s.run.err, s.run.panicked
	}
	if s.hour() || s.check.ref == nil {
		synctest.Wait()
		s.grown = s.own()
	}
	if s.check.ref != nil && !s.check.Done(s.Tally) && !s.ended && !s.returning() {
		s.show()
	}
	s.record = s.network.soFar()
	s.cancel(errCause)
	s.finish()
}

// start starts the client.
func (s *session) start(t *judge.Tally) {
	r := &clientRun{done: make(chan struct{})}
	s.run = r
	go func() {
		defer close(r.done)
		defer func() {
			if v := recover(); v != nil {
				r.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		r.id = virtual.Current().ID
		pprof.Do(s.ctx, pprof.Labels(clientLabel, s.network.label), func(ctx context.Context) {
			r.err = s.client(ctx, s.consumer(t))
		})
	}()
}

// consumer returns the consumer of the client's values.
func (s *session) consumer(t *judge.Tally) func(v any) bool {
	var stopped atomic.Bool // a client that dials may call it on several goroutines at once
	return func(v any) bool {
		if stopped.Load() {
			s.past = append(s.past, v)
			return false
		}
		number := t.Enter(v)
		first := t == s.Tally
		if first && number == s.busyAt {
			time.AfterFunc(shortLife, func() { s.network.breakAll(cut) })
			time.Sleep(slowness)
		}
		if first && number == s.cancelAt {
			s.cancel(errCause)
		}
		s.network.delivered(v)
		if first && number == s.stopAt {
			stopped.Store(true)
			return false
		}
		return true
	}
}

// await lets time pass until the scenario is over.
func (s *session) await() {
	c, n, soFar := s.check, s.network, s.network.soFar
	most := s.most(c)
	switch {
	case c.ref == nil:
		s.awaitAll()
	case s.cancelIn > 0:
		begun := func() bool {
			r := soFar()
			return r.breaks > min(s.again, 1) && (s.ignore == 0 || r.ignored > 0)
		}
		if s.until(most, begun) && !s.within(s.cancelIn) {
			s.cancel(errCause)
		}
	case s.cancelAt > 0 || s.stopAt > 0:
		number := max(s.cancelAt, s.stopAt)
		s.until(most, func() bool { return s.Count() >= number })
	case s.gone > 0:
		from := c.firstOf(s.gone)
		if s.until(time.Hour, func() bool { return len(s.Lost(from)) == 0 }) {
			s.within(watching)
		}
	case s.flaps && s.after > 0:
		s.until(most, func() bool { r := soFar(); return r.cuts == flapCuts && r.connected })
		s.within(2 * worked)
	case s.flaps:
		s.awaitFlaps(most)
	case s.afterwards > 0 && s.at < 0:
		if !s.until(most, func() bool { return c.Done(s.Tally) }) || s.within(s.afterwards) {
			return
		}
		n.breakAll(s.fate)
		fallthrough
	default:
		breaks := s.fate != unbroken || s.busyAt > 0
		for s.until(most, func() bool { return c.Done(s.Tally) && (!breaks || soFar().back) }) {
			if before := soFar().breaks; s.within(watching) || soFar().breaks == before {
				return
			}
		}
	}
}

// awaitFlaps lets time pass until the client has delivered all on connections that break after a value, or makes no
// progress on many of them, or does not notice that one is silent.
func (s *session) awaitFlaps(most time.Duration) {
	if s.fate == silence {
		most = recovery
	}
	flapped := func() int { return s.network.soFar().flapped }
	over := func() bool { return s.check.Done(s.Tally) || flapped() >= 4*max(s.check.units, flapCuts) }
	for more := true; more && !over(); {
		last := flapped()
		more = s.until(most, func() bool { return flapped() > last || over() })
	}
	s.deafened = !over() && s.network.soFar().silent > 0
	s.within(watching)
}

// awaitAll lets time pass until the undisturbed client has delivered all that there is, and then watches for what comes
// with time.
func (s *session) awaitAll() {
	c, n, start := s.check, s.network, time.Now()
	read, ended := false, false
	for most := time.Hour + 2*time.Duration(c.units)*eventPace; !read && !ended && time.Since(start) < most; {
		read = c.dials && s.Quiet(start) >= lastQuiet || !c.dials && n.soFar().units == c.units
		ended = s.within(time.Second)
		if s.countAt(len(n.soFar().dials)); n.soFar().hot != "" {
			return
		}
	}
	values := s.Count()
	if took := time.Since(start) - s.Quiet(start); read || ended {
		n.mu.Lock()
		n.values, n.took = values, took
		n.mu.Unlock()
	}
	if !ended {
		s.within(2*idlePause + time.Second)
		s.timely = s.Count() > values
	}
}

// finish looks at what is left when the context has ended.
func (s *session) finish() {
	if !s.within(prompt) {
		s.late = []virtual.Goroutine{s.bubble.Goroutine(s.run.id)}
		s.show()
		return
	}
	synctest.Wait()
	soFar, ended := s.network.soFar, time.Now()
	dials := len(soFar().dials)
	if soFar().unclosed > 0 || s.returning() && len(s.own()) > 0 {
		time.Sleep(prompt)
		synctest.Wait()
		s.left, s.unclosed = s.own(), soFar().unclosed
	}
	if len(s.left) > 0 {
		s.show()
		time.Sleep(time.Hour) // it may connect again
	}
	time.Sleep(watching)
	if all := soFar().dials; len(all) > dials {
		s.redialled = all[dials].Sub(ended)
	}
}

// countAt counts the client's goroutines if there is a connection more than at the last count.
func (s *session) countAt(turns int) {
	if turns == s.turns || len(s.counts) == 2*flapCuts {
		return
	}
	s.turns = turns
	synctest.Wait()
	s.grown = s.own()
	s.counts = append(s.counts, len(s.grown))
}

// within reports whether the client returns within d.
func (s *session) within(d time.Duration) bool {
	select {
	case <-s.run.done:
	case <-time.After(d):
		synctest.Wait()
	}
	select {
	case <-s.run.done:
		return true
	default:
		return false
	}
}

// mostShown is how often a timeline gets what the client waits for: that takes time, and long timelines are shortened.
const mostShown = 200

// until lets time pass until the condition holds, and reports whether it does. It waits no more when the client
// returns, is a hot loop, or d is over.
func (s *session) until(d time.Duration, condition func() bool) bool {
	timeout := time.After(d)
	for !condition() {
		select {
		case <-s.network.news:
			r := s.network.soFar()
			if s.flaps {
				s.countAt(r.flapped)
			}
			if r.hot != "" {
				return false
			}
			if s.shown++; s.alone && s.shown < mostShown {
				s.show()
			}
		case <-s.run.done:
			return condition()
		case <-timeout:
			return false
		}
	}
	return true
}

// own returns the client's goroutines. A Transport of net/http goes on with a dial when its request has ended, and
// closes the connection then.
func (s *session) own() []virtual.Goroutine {
	return slices.DeleteFunc(s.network.own(s.bubble.Running()), func(g virtual.Goroutine) bool {
		return slices.ContainsFunc(g.Calls, func(c virtual.Call) bool { return strings.HasPrefix(c.Function, "net/http.(*Transport).dial") })
	})
}

// show writes into the timeline what the client waits for, if that has changed.
func (s *session) show() {
	synctest.Wait()
	waits := strings.Join(virtual.Waits(s.own()), ", ")
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	if waits != "" && waits != s.waits {
		s.waits = waits
		s.network.timeline.Note("%s", waits)
	}
}
