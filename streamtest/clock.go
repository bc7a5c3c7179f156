package streamtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// Clock is a mock clock for tests without a bubble: it reports when something is armed on it. A test that moves a mock
// after runtime.Gosched or a short sleep sometimes moves it before the code under test has armed its timer. A test that
// counts armed timers counts others too. With a Clock, a test waits for exactly the wait that it is about to end, and
// advances time to its end:
//
//	c := streamtest.NewClock()
//	go src.RetryWhen(policy).ForEach(stream.WithClock(ctx, c), use)
//	w, err := c.AdvanceToNext(ctx) // the first retry
//
// That is exact for code that has one wait at a time. If there are several waits at once, for example a timeout over a
// retry, the test must select the one it means, with Armed and Advance. If a test also checks what has not happened
// yet, or the time at which something happens, it needs a bubble: use [Run].
//
// NewClock makes a Clock for stream.WithClock or retry.WithClock. Armed, Advance and AdvanceToNext must be called on
// one goroutine, the test's; the rest is safe for concurrent use.
type Clock struct {
	// Mock is the mock under the Clock. Timers that are armed directly on it are not reported.
	Mock *clock.Mock

	mu    sync.Mutex
	waits []*Wait // armed, and not yet returned by Armed
	news  judge.News
}

// NewClock returns a Clock on a new mock, whose time is the Unix epoch.
func NewClock() *Clock { return &Clock{Mock: clock.NewMock(), news: judge.NewNews()} }

// Wait is a timer that was armed on a Clock.
type Wait struct {
	// Delay is the duration for which it was armed; it is positive.
	Delay time.Duration
	// Due is the time at which it fires.
	Due time.Time
	// Operator is the name of the operator or policy that armed it, such as "stream.Timeout" or "retry.Policy.Handle", or
	// the function in other code.
	Operator string

	clock   *Clock
	timer   *clock.Timer
	f       func()
	armed   bool // neither fired nor stopped
	callers virtual.Callers
}

// String returns what was armed, and where.
func (w *Wait) String() string {
	return fmt.Sprintf("%v armed by %s%v", w.Delay, w.Operator, w.callers)
}

var _ stream.Clock = (*Clock)(nil)

// Now returns the mock's time.
func (c *Clock) Now() time.Time { return c.Mock.Now() }

// AfterFunc calls f once, on its own goroutine, when d has passed. For d ≤ 0 it calls f at once, which is not a Wait.
func (c *Clock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if f == nil {
		panic("streamtest: Clock.AfterFunc: f is nil")
	}
	w := &Wait{Delay: d, clock: c, armed: d > 0, f: f}
	if !w.armed {
		go f()
		return w
	}
	w.callers = virtual.Here()
	w.Operator = w.callers.Operator()
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Due = c.Mock.Now().Add(d)
	w.timer = c.Mock.AfterFunc(d, w.fire)
	c.waits = append(c.waits, w)
	c.news.Tell()
	return w
}

// fire is called by the mock, which may do so twice.
func (w *Wait) fire() {
	if w.disarm() {
		w.f()
	}
}

// Stop disarms the wait and reports whether that kept it from firing.
func (w *Wait) Stop() bool {
	armed := w.disarm()
	if armed {
		w.timer.Stop()
	}
	return armed
}

// disarm disarms the wait and reports whether it had neither fired nor been stopped before.
func (w *Wait) disarm() bool {
	w.clock.mu.Lock()
	defer w.clock.mu.Unlock()
	armed := w.armed
	w.armed = false
	return armed
}

// Armed returns the next wait, in the order armed, that it has not returned before. It skips a wait that has fired or
// was stopped meanwhile. It blocks until there is one. If ctx ends first, it returns an error that matches
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
		if w.armed {
			return w
		}
	}
	return nil
}

// Advance moves the mock to the instant at which w is due. That fires w and everything due before it. Advance does
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
