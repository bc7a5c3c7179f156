package streamtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

// Session is a test on virtual time. Its methods are for the test's own goroutine, except Context, Clock and Draws.
type Session struct {
	t        *testing.T
	report   reporter
	ctx      context.Context
	cancel   context.CancelCauseFunc
	hand     *hand
	system   *systemClock
	test     *ledger // what the test itself arms
	own      *ledger // what the session arms
	end      *endOfTime
	bubble   int
	before   map[int]bool // the goroutines that were there first
	sources  int          // marble sources so far
	watching []watching
	finished bool // the test's function has returned
	left     bool // goroutines were left, and reported
}

// reporter is the part of a *testing.T that a session reports through.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// watching is a subscription that the session looks after.
type watching interface {
	verify()
	stop()
}

// Run runs f as a test on virtual time: in a bubble of testing/synctest, with a session.
//
// At the end every goroutine that the test has started must have ended, except those that end when s.Context() does,
// which is then cancelled; and nothing may be armed on s.Clock(), s.Context() or s.SystemContext(). What is left fails
// the test, with the place where it was started or armed. A timer that code has armed on the system's clock behind the
// session's back, with time.AfterFunc, is not seen: nothing tells what is armed there.
//
// What freezes a bubble: waiting for a mutex while its holder waits for time to pass, for a channel that was made
// outside, for the network. Run says so on standard error when it has lasted for ten seconds. A deadlock fails the test
// with a list of what waits for what. Run must not be called in a bubble, and t.Run not inside f: put the t.Run
// outside, around Run.
func Run(t *testing.T, f func(s *Session)) {
	t.Helper()
	run(t, nil, f)
}

// run is Run with its reports going to report, nil for the bubble's own T.
func run(t *testing.T, report reporter, f func(s *Session)) {
	t.Helper()
	var s *Session
	deadlock := runBubble(t, func(t *testing.T) {
		var err error
		if s, err = newSession(t, report); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.finish) // after the cleanups of f
		f(s)
		s.verify()
		s.finished = true
	})
	if deadlock == nil {
		return
	}
	if report == nil {
		report = t
	}
	switch {
	case s.end.text != "":
		report.Fatalf("streamtest: the test is given up: it waits for what never comes")
	case s.left || t.Failed():
		report.Fatalf("streamtest: the test has ended, but not all that it started")
	default:
		report.Fatalf("streamtest: %v", deadlock)
	}
}

func newSession(t *testing.T, report reporter) (*Session, error) {
	h, err := newHand()
	if err != nil {
		return nil, err
	}
	if report == nil {
		report = t
	}
	me := current()
	s := &Session{
		t: t, report: report, hand: h, system: newSystemClock(),
		test: new(ledger), own: &ledger{own: true},
		bubble: me.bubble, before: map[int]bool{me.id: true},
	}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.ctx = stream.WithClock(s.ctx, handClock{hand: h, owner: s.test})
	s.end = newEndOfTime(s)
	return s, nil
}

// T returns the test. Its Run, Parallel and Deadline panic: they do not work in a bubble.
func (s *Session) T() *testing.T { return s.t }

// Context returns the context of the test. It carries the mock clock, so that every time-based operator run under it
// uses that, and it ends with the test.
func (s *Session) Context() context.Context { return s.ctx }

// SystemContext returns a context that ends with the test too, but carries the bubble's own clock, under which most
// programs run. Other than code under a context without a clock, what is left armed under this one fails the test.
// Timers that are due at one instant fire in any order there: a bubble shuffles them, on purpose.
func (s *Session) SystemContext() context.Context { return stream.WithClock(s.ctx, s.system) }

// Clock returns the mock clock, for code that takes one. It shows the same time as the bubble's own clock, from
// 2000-01-01 00:00 UTC on, and moves with it; move time with Advance. The Mock's own Add and Set work, but sleep a
// millisecond on the bubble's clock for each timer.
//
// What is armed on the Mock fires in the order armed, like all that is armed through Context, but within the Mock's own
// bounds: it forgets the order among more than twelve timers when one of them is stopped. Code that has the Mock and
// is woken by the bubble's own clock, by time.Sleep say, reads a time of the Mock that is exact to the millisecond for
// five seconds after it was last used, and to a five-thousandth of the time since from then on; what is carried by
// Context is exact always.
func (s *Session) Clock() *clock.Mock {
	s.hand.lent.Store(true)
	return s.hand.mock
}

// Advance lets the test's goroutines come to rest, lets d pass on both clocks, and lets them come to rest again. What
// falls due on the way fires at its time, also what is only armed on the way, and all comes to rest before the next. Of
// one instant, the timers of the bubble's own clock come first, in any order; then those of the mock, in the order
// armed. Advance(0) only lets all come to rest. A negative d fails the test, and so does one that leads past the year
// 2261, where the runtime's clock ends.
func (s *Session) Advance(d time.Duration) {
	s.report.Helper()
	if d < 0 {
		s.report.Fatalf("streamtest: Advance: d is %v, want >= 0", d)
	}
	if left := time.Until(lastMoment); d > left {
		s.report.Fatalf("streamtest: Advance: %v from %s leads past %s, where the time of a bubble ends; delays that double from 1s get there at n = 32: Cap them",
			d, time.Now().Format(time.DateTime), lastMoment.Format(time.DateTime))
	}
	s.hand.settle()
	s.hand.advance(d)
	s.hand.settle()
}

// Elapsed returns the virtual time since the session began.
func (s *Session) Elapsed() time.Duration { return time.Since(bubbleStart) }

// subscriber returns a context for one subscription, and the ledger of what is armed under it.
func (s *Session) subscriber() (context.Context, context.CancelCauseFunc, *ledger) {
	owner := new(ledger)
	ctx, cancel := context.WithCancelCause(s.ctx)
	return stream.WithClock(ctx, handClock{hand: s.hand, owner: owner}), cancel, owner
}

// source returns the clock of the next marble source.
func (s *Session) source() handClock {
	s.sources++
	return handClock{hand: s.hand, owner: s.own, source: s.sources}
}

// verify checks, when the test's function has returned, what the session looks after.
func (s *Session) verify() {
	s.report.Helper()
	s.hand.settle()
	for _, w := range s.watching {
		w.verify()
	}
}

// finish ends the session, and reports what is left behind.
func (s *Session) finish() {
	for _, w := range s.watching {
		w.stop()
	}
	s.cancel(nil)
	s.hand.settle()
	if s.finished {
		s.reportLeft()
	}
	s.end.stop()
	s.hand.stop()
	s.hand.ticks.Wait()
}

func (s *Session) reportLeft() {
	var goroutines []goroutine
	for _, g := range inBubble(s.bubble) {
		if !s.before[g.id] && !g.machinery() && !g.ticking() {
			goroutines = append(goroutines, g)
		}
	}
	if s.left = len(goroutines) > 0; s.left {
		s.report.Errorf("streamtest: %s left running at the end of the test:%s", count(len(goroutines), "goroutine"), list(goroutines))
	}
	var timers []fmt.Stringer
	for _, e := range s.hand.left(func(owner *ledger) bool { return !owner.own }) {
		timers = append(timers, e)
	}
	for _, t := range s.system.left() {
		timers = append(timers, t)
	}
	if s.hand.lent.Load() {
		for _, t := range s.hand.gears.armed(nil, s.hand.first) {
			timers = append(timers, t)
		}
	}
	if len(timers) > 0 {
		s.report.Errorf("streamtest: %s left armed at the end of the test:%s", count(len(timers), "timer"), list(timers))
	}
}

// count writes "1 timer" or "2 timers".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
