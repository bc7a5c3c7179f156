package streamtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest/internal/virtual"
)

// Clock is a mock clock for tests without a bubble: one that reports when something is armed on it. A test that moves a
// mock at a guess, after runtime.Gosched or a short sleep, moves it before the code under test has armed its timer, now
// and then; one that counts armed timers counts others too. With a Clock a test waits for the very wait that it is
// about to end, and moves time by what is left of it:
//
//	c := streamtest.NewClock()
//	go src.RetryWhen(policy).ForEach(stream.WithClock(ctx, c), use)
//	w, err := c.AdvanceToNext(ctx) // the first retry
//
// That is exact for code that has one wait at a time. Where waits are armed side by side, a timeout over a retry, the
// test has to name the one it means, with Armed and Advance. Where it also matters what has not happened yet, or what
// time it is when something happens, only a bubble knows: use [Run].
//
// A Clock is made by NewClock and goes into stream.WithClock or retry.WithClock. Armed, Advance and AdvanceToNext are
// for one goroutine, the test's; the rest is safe for concurrent use.
type Clock struct {
	// Mock is the mock that the Clock is on. Timers that are armed on it directly are not reported.
	Mock *clock.Mock

	mu    sync.Mutex
	waits []*Wait // armed, and not yet returned by Armed
	news  chan struct{}
}

// NewClock returns a Clock on a new mock, which shows the Unix epoch.
func NewClock() *Clock { return &Clock{Mock: clock.NewMock(), news: make(chan struct{}, 1)} }

// Wait is something that was armed on a Clock.
type Wait struct {
	// Delay is what it was armed for; it is positive.
	Delay time.Duration
	// Due is when it fires.
	Due time.Time
	// Operator names what has armed it: the operator or policy, as "stream.Timeout" or "retry.Policy.Handle", for other
	// code the function.
	Operator string

	clock   *Clock
	timer   *clock.Timer
	f       func()
	over    bool // fired or stopped
	callers virtual.Callers
}

// String says what was armed, and where.
func (w *Wait) String() string {
	return fmt.Sprintf("%v armed by %s%v", w.Delay, w.Operator, w.callers)
}

var _ stream.Clock = (*Clock)(nil)

// Now returns the mock's time.
func (c *Clock) Now() time.Time { return c.Mock.Now() }

// AfterFunc calls f on a goroutine of its own, once, when d has passed; at once for d ≤ 0, which is no wait.
func (c *Clock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if f == nil {
		panic("streamtest: Clock.AfterFunc: f is nil")
	}
	w := &Wait{Delay: d, clock: c, f: f}
	if d <= 0 {
		w.over = true
		go f()
		return w
	}
	w.callers = virtual.CallersOf(0)
	w.Operator = w.callers.Operator()
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Due = c.Mock.Now().Add(d)
	w.timer = c.Mock.AfterFunc(d, w.fire)
	c.waits = append(c.waits, w)
	select {
	case c.news <- struct{}{}:
	default:
	}
	return w
}

// fire is called by the mock, which may do so twice.
func (w *Wait) fire() {
	if w.end() {
		w.f()
	}
}

// Stop disarms the wait and reports whether that kept it from firing.
func (w *Wait) Stop() bool {
	armed := w.end()
	if armed {
		w.timer.Stop()
	}
	return armed
}

// end reports whether the wait was still to fire, and that it is over.
func (w *Wait) end() bool {
	w.clock.mu.Lock()
	defer w.clock.mu.Unlock()
	armed := !w.over
	w.over = true
	return armed
}

// Armed returns the next wait, in the order armed, that it has not returned before; one that has fired or was stopped
// meanwhile is passed over. It blocks until there is one. When ctx ends first it returns an error that matches
// context.Cause(ctx).
func (c *Clock) Armed(ctx context.Context) (*Wait, error) {
	for {
		if w := c.take(); w != nil {
			return w, nil
		}
		select {
		case <-c.news:
		case <-ctx.Done():
			return nil, fmt.Errorf("streamtest: Clock: nothing was armed: %w", context.Cause(ctx))
		}
	}
}

func (c *Clock) take() *Wait {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waits) > 0 {
		w := c.waits[0]
		c.waits = c.waits[1:]
		if !w.over {
			return w
		}
	}
	return nil
}

// Advance moves the mock to the instant at which w falls due, which fires it, and what falls due on the way. It does
// nothing if that instant has passed.
func (c *Clock) Advance(w *Wait) {
	if d := w.Due.Sub(c.Mock.Now()); d > 0 {
		c.Mock.Add(d)
	}
}

// AdvanceToNext is Armed, then Advance: it ends the next wait and returns it.
func (c *Clock) AdvanceToNext(ctx context.Context) (*Wait, error) {
	w, err := c.Armed(ctx)
	if err == nil {
		c.Advance(w)
	}
	return w, err
}
