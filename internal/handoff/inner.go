package handoff

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Inner is the context of an inner stream whose outer stream may fail. It loses no value that the inner stream has at
// hand: [CancelInner] takes effect when that stream has begun, which is when its first value is delivered, when it has
// returned, when it waits for Done, or at its fourth call of Err. So a stream that yields at once, as stream.Of does,
// yields its first value however late the scheduler lets it begin. An end of the parent takes effect at once.
type Inner struct {
	context.Context
	cancel context.CancelFunc // of the Context
	state  atomic.Uint32
	late   sync.WaitGroup // cancels that a call of Done has started
}

const (
	cancelled = 1 << iota // to be cancelled when the stream has begun
	asked                 // Done was called
	begun
	called // the number of calls of Err, counted in the bits from here on

	enough = 4 * called
)

// NewInner returns a context. cancel must cancel ctx.
func NewInner(ctx context.Context, cancel context.CancelFunc) *Inner {
	return &Inner{Context: ctx, cancel: cancel}
}

// Err is the context's Err. A cancel that waits for this call takes effect after its result is known.
func (c *Inner) Err() error {
	err := c.Context.Err()
	if c.state.Load()&begun == 0 && c.state.Add(called) >= enough {
		c.Begin()
	}
	return err
}

// Done returns the context's channel. The caller may wait for it at once, or yield first.
func (c *Inner) Done() <-chan struct{} {
	if c.state.Load()&(asked|begun) == 0 && c.state.Or(asked)&cancelled != 0 {
		c.late.Go(func() { cancelSoon([]*Inner{c}) })
	}
	return c.Context.Done()
}

// String describes the context in the form that package context uses. Without it, printing the context would read its
// fields, which is a data race.
func (c *Inner) String() string { return fmt.Sprint(c.Context, ".Inner") }

// Begin records that the stream has begun.
func (c *Inner) Begin() {
	if c.state.Load()&begun == 0 && c.state.Or(begun)&cancelled != 0 {
		c.cancel()
	}
}

// Cancelled reports whether CancelInner was called.
func (c *Inner) Cancelled() bool { return c.state.Load()&cancelled != 0 }

// Reset prepares c for another stream. No stream may use c meanwhile.
func (c *Inner) Reset() { c.state.And(cancelled) }

// End cancels the context at once, and returns when no goroutine of it runs any more.
func (c *Inner) End() {
	c.state.Or(begun)
	c.cancel()
	c.late.Wait()
}

// CancelInner cancels the contexts of streams that have begun, and those of the others when they begin.
func CancelInner(all ...*Inner) {
	var soon []*Inner
	for _, c := range all {
		switch state := c.state.Or(cancelled); {
		case state&begun != 0:
			c.cancel()
		case state&asked != 0:
			soon = append(soon, c)
		}
	}
	cancelSoon(soon)
}

// cancelSoon cancels the contexts of streams that have called Done and may wait for it. First it lets those run that do
// not wait, but are about to yield: a turn of the scheduler for each step on their way, of which a chain over several
// goroutines has some. A stream that has not yielded after so many turns waits for something.
func cancelSoon(all []*Inner) {
	for range 100 {
		if !slices.ContainsFunc(all, func(c *Inner) bool { return c.state.Load()&begun == 0 }) {
			return // Begin has cancelled them
		}
		runtime.Gosched()
	}
	for _, c := range all {
		c.cancel()
	}
}
