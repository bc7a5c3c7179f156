package reconnecttest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/calls"
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
	sc := scenario{at: -1, cancelIn: 1, noun: c.noun}
	if w.Refused != 0 {
		sc.first, sc.lets, sc.lasts = true, -1, w.Refused
	}
	if w.Refused < 0 {
		sc.lasts = math.MaxInt64
	}
	inBubble := &calls.Run{Way: w}
	o := c.inBubble(t, sc, func(s *session) {
		server := calls.NewServer(w, c.target, answer, time.Microsecond)
		server.Lag, server.Dialing = latency, dialing
		h := &host{network: s.network, serve: server.Serve, ctx: s.bubble.Context}
		h.start()
		defer h.close()
		defer s.network.stop()
		s.client = c.client(w, h.dial, inBubble)
		c.watch(s, server, inBubble)
	})
	if o.stuck != nil { // the bubble may still write to its run
		return &calls.Run{Way: w, Stuck: c.judgeStuck(o)}
	}
	return inBubble
}

// client returns what makes the calls of a way.
func (c *caller) client(w calls.Way, dial Dial, r *calls.Run) clientFunc {
	return func(ctx context.Context, _ func(any) bool) (err error) {
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
		return err
	}
}

// watch lets time pass until the run is over, and takes down what it has shown.
func (c *caller) watch(s *session, server *calls.Server, r *calls.Run) {
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
			over = seen.Hot
			if r.Way.Told && !seen.Answered.IsZero() {
				over = s.within(toldAfter) || true
			}
		case <-s.network.news:
			over = r.Way.Refused != 0 && s.network.soFar().hot != ""
		}
	}
	r.Returned = s.within(0)
	r.Took = time.Since(start)
	server.Fill(r)
	if soFar := s.network.soFar(); r.Way.Refused != 0 {
		r.Refusals = soFar.waits[:min(len(soFar.waits), soFar.refused)]
	}
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
