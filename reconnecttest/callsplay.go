package reconnecttest

import (
	"context"
	"net"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/calls"
	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
)

const (
	watched   = time.Hour        // for how long a call is watched
	most      = 15               // requests for one call in 30 s
	toldAfter = time.Millisecond // the first answer, a call is told to end
	between   = time.Second      // two calls
	answer    = `{"ok":true}`
)

// play makes the calls of a way, in a bubble of its own.
func (c *caller) play(t *testing.T, w calls.Way) *calls.Run {
	oneAtATime.Lock() // as Check does, for the same reasons
	defer oneAtATime.Unlock()
	runtime.GC()
	runtime.GC()
	n := &network{scenario: scenario{at: -1, cancelIn: 1, noun: c.noun}}
	inBubble := &calls.Run{Way: w}
	stuck, spins := virtual.Try(t, func(b *virtual.Bubble, seen func()) {
		n.news, n.seen, n.timeline = make(chan struct{}, 1), seen, judge.NewTimeline(1)
		n.label = strconv.FormatInt(clients.Add(1), 10)
		server := calls.NewServer(w, c.target, answer, time.Microsecond)
		server.Lag, server.Dialing = latency, dialing
		h := &host{network: n, serve: server.Serve, ctx: b.Context}
		h.start()
		defer h.close()
		defer n.stop()
		s := &session{outcome: &outcome{scenario: n.scenario, Tally: judge.NewTally(nil, func() int { return 0 })}, check: c.check, bubble: b, network: n}
		s.ctx, s.cancel = context.WithCancelCause(b.Context)
		defer s.cancel(nil)
		r := &refusing{host: h, way: w, server: server}
		s.client = c.client(w, n.label, r.dial, inBubble)
		c.watch(s, server, r, inBubble)
	})
	if stuck == nil {
		return inBubble
	}
	n.doomed.Store(true) // the bubble may still write to its run
	o := &outcome{scenario: n.scenario, stuck: stuck, spins: spins, record: n.soFar()}
	return &calls.Run{Way: w, Stuck: c.judgeStuck(o)}
}

// client returns what makes the calls of a way.
func (c *caller) client(w calls.Way, label string, dial Dial, r *calls.Run) clientFunc {
	return func(ctx context.Context, _ func(any) bool) (err error) {
		pprof.Do(ctx, pprof.Labels(clientLabel, label), func(ctx context.Context) {
			call := c.make(dial)
			for n := max(1, w.Calls); n > 0; n-- {
				one, cancel := ctx, context.CancelFunc(func() {})
				if w.Deadline > 0 {
					one, cancel = context.WithTimeout(ctx, w.Deadline)
				}
				result, failed := call(one)
				cancel()
				if r.Result = result; err == nil {
					err = failed
				}
				if n > 1 && ctx.Err() == nil {
					time.Sleep(between)
				}
			}
		})
		return err
	}
}

// watch lets time pass until the run is over, and takes down what it has shown.
func (c *caller) watch(s *session, server *calls.Server, refused *refusing, r *calls.Run) {
	start := time.Now()
	within := watched
	switch {
	case r.Way.Calls > 0:
		within = time.Duration(r.Way.Calls) * watched
	case r.Way.Deadline > 0:
		within = r.Way.Deadline + prompt
	}
	s.start(s.Tally)
	timeout := time.After(within)
	over, expired := false, false
	for !over {
		select {
		case <-s.run.done:
			over = true
		case <-timeout:
			over, expired = true, true
		case <-server.News:
			seen := server.Look()
			over = seen.Hot || refused.hot()
			if r.Way.Told && !seen.Answered.IsZero() {
				over = s.within(toldAfter) || true
			}
		}
	}
	r.Returned = s.within(0)
	r.Took = time.Since(start)
	server.Fill(r)
	r.Refusals = refused.waits
	switch {
	case r.Returned:
	case expired && r.Way.Deadline > 0 && r.Way.Calls == 0:
		r.Late = true
	default:
		server.Note("the call is told to end")
		s.cancel(errCause)
		r.Late = !s.within(prompt)
	}
	if r.Late {
		s.cancel(errCause)
		s.network.stop()
		s.within(time.Hour) // until it dials, so that it does not stay when the bubble has ended
	} else {
		r.Err = s.run.err
		r.Panicked, _, _ = strings.Cut(s.run.panicked, "\n") // before the stack
		server.EndIdle()
		time.Sleep(2 * latency)
		s.finish()
		r.Open = s.unclosed
		r.Left = virtual.Places(slices.DeleteFunc(s.left, func(g virtual.Goroutine) bool { return strings.HasPrefix(g.Start(), "net/http.") }))
	}
	r.Timeline = server.Lines()
}

// refusing refuses connections while a way says so.
type refusing struct {
	host   *host
	way    calls.Way
	server *calls.Server

	mu    sync.Mutex // never held during a wait
	first time.Time
	free  time.Time // the last refusal
	waits []time.Duration
}

func (r *refusing) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if !r.refuses() {
		return r.host.dial(ctx, network, addr)
	}
	r.host.network.called(true)
	time.Sleep(dialing)
	r.mu.Lock()
	r.free = time.Now()
	r.mu.Unlock()
	return nil, errRefused
}

// refuses records that the client connects, and reports whether it is refused.
func (r *refusing) refuses() bool {
	if r.way.Refused == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.first.IsZero() {
		r.first = now
	} else if !r.free.IsZero() {
		r.waits = append(r.waits, now.Sub(r.free))
		r.free = time.Time{}
		select {
		case r.server.News <- struct{}{}: // it may be hot
		default:
		}
	}
	return r.way.Refused < 0 || now.Sub(r.first) < r.way.Refused
}

// hot reports whether so many waits in a row are none that nothing more need be seen.
func (r *refusing) hot() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.waits[max(0, len(r.waits)-noWaits):]
	return len(last) == noWaits && slices.Max(last) <= noWait
}
