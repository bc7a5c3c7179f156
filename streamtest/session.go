package streamtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// Session is a test on virtual time. Its methods are for the test's own goroutine, except Context, Clock and Rand.
type Session struct {
	t        *testing.T
	report   virtual.Reporter
	bubble   *virtual.Bubble
	ctx      context.Context
	test     *virtual.Owner // the timers that the test itself arms
	sources  int            // marble sources so far
	atEnd    []func()       // called when the test's function has returned
	finished bool           // the test's function has returned
	left     bool           // goroutines were left and reported
}

// Run runs f as a test on virtual time: in a bubble of testing/synctest, with a session.
//
// At the end, every goroutine that the test has started must have ended, except those that end with s.Context(), which
// is then cancelled. Nothing may be armed on s.Clock(), the clock of s.Context(). A goroutine or timer that is left
// fails the test, with the place where it was started or armed. A timer of the system clock, for example of
// time.AfterFunc, is not detected.
//
// A bubble freezes if it waits for a mutex while its holder waits for time to pass, for a channel that was made
// outside, or for the network. Run fails the test when that has lasted for ten seconds. A deadlock fails the test with
// a list of what waits for what. Do not call Run in a bubble, or t.Run inside f: put the t.Run around Run.
//
// **Inside f use s.Context(), never t.Context() of the t outside.** Code that waits for that one freezes the bubble, as
// for any channel from outside. A context that is derived from it in f and not cancelled there can end the whole
// test process, when that test ends, with the runtime's "close of synctest channel from outside bubble".
func Run(t *testing.T, f func(s *Session)) {
	t.Helper()
	run(t, t, f)
}

// run is Run that sends its reports to report.
func run(t *testing.T, report virtual.Reporter, f func(s *Session)) {
	t.Helper()
	var s *Session
	deadlock := virtual.Run(t, report, func(inner *testing.T, b *virtual.Bubble) {
		s = newSession(inner, b)
		f(s)
		s.verify()
		s.finished = true
	})
	switch {
	case deadlock == nil:
	case s.bubble.GaveUp:
		report.Fatalf("streamtest: the test was stopped: it waits for something that does not happen")
	case s.left || t.Failed():
		report.Fatalf("streamtest: the test has ended, but not everything that it started")
	default:
		report.Fatalf("streamtest: %v", deadlock)
	}
}

// newSession makes a session that ends with t.
func newSession(t *testing.T, b *virtual.Bubble) *Session {
	s := &Session{t: t, report: b.Report, bubble: b, test: new(virtual.Owner)}
	s.ctx = stream.WithClock(b.Context, s.Clock())
	t.Cleanup(s.finish) // after the cleanups of the test
	return s
}

// T returns the test. Its Run, Parallel and Deadline panic: they do not work in a bubble.
func (s *Session) T() *testing.T { return s.t }

// Context returns the context of the test. It carries Clock, so that every time-based operator run under it uses that
// clock, and it ends with the test. Under T().Context(), which ends with the test too, operators use the system clock,
// as most programs do.
func (s *Session) Context() context.Context { return s.ctx }

// Clock returns the session's clock, for code that takes one. It shows the bubble's time, from 2000-01-01 00:00 UTC on.
// So do, in a bubble, the system clock and benbjohnson's clock.New(), which is for code that takes that type. The
// difference is the order at one instant: timers on Clock fire in the order armed, with everything at rest before each,
// and after all timers of the system clock, which a bubble deliberately shuffles.
func (s *Session) Clock() stream.Clock { return virtual.View{Clock: &s.bubble.Clock, Owner: s.test} }

// Advance waits until the test's goroutines are at rest, lets d pass, and waits until they are at rest again. Timers
// that are due on the way fire at their time, also those armed on the way. Advance(0) only waits until all are at rest.
// A negative d fails the test, and so does one that goes beyond the year 2261, where the runtime's clock ends.
func (s *Session) Advance(d time.Duration) {
	s.report.Helper()
	if d < 0 {
		s.report.Fatalf("streamtest: Advance: d is %v, want at least 0", d)
	}
	s.bubble.Settle()
	s.bubble.Sleep(d)
	s.bubble.Settle()
}

// Elapsed returns the virtual time since the session began.
func (s *Session) Elapsed() time.Duration { return time.Since(virtual.Start) }

// source returns the clock of the next marble source.
func (s *Session) source() virtual.View {
	s.sources++
	return virtual.View{Clock: &s.bubble.Clock, Owner: &virtual.Owner{Silent: true}, Source: s.sources}
}

// verify checks the session's subscriptions when the test's function has returned.
func (s *Session) verify() {
	s.bubble.Settle()
	for _, f := range s.atEnd {
		f()
	}
}

// finish ends the session, and reports what is left.
func (s *Session) finish() {
	s.bubble.Cancel(nil)
	s.bubble.Settle()
	if !s.finished {
		return
	}
	if left := s.bubble.Left(); len(left) > 0 {
		s.left = true
		s.report.Errorf("streamtest: %s left running at the end of the test:%s", judge.Count(len(left), "goroutine"), virtual.List(left))
	}
	if left := s.bubble.Armed(nil); len(left) > 0 {
		s.report.Errorf("streamtest: %s left armed at the end of the test:%s", judge.Count(len(left), "timer"), virtual.List(left))
	}
}

// Rand returns a source of random numbers that returns the numbers u one after another, for retry.WithRand and similar
// functions. Each must be in [0, 1). It is safe for concurrent use. A call beyond the last number fails the test and
// returns 0.
func (s *Session) Rand(u ...float64) func() float64 {
	s.report.Helper()
	for i, x := range u {
		if !(x >= 0 && x < 1) {
			s.report.Fatalf("streamtest: Rand: number %d is %v, want one in [0, 1)", i+1, x)
		}
	}
	var calls atomic.Int64
	return func() float64 {
		s.report.Helper()
		n := int(calls.Add(1))
		if n > len(u) {
			s.report.Errorf("streamtest: Rand: call %d, but the test gives only %s%v", n, judge.Count(len(u), "number"), virtual.Here())
			return 0
		}
		return u[n-1]
	}
}
