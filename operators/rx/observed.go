package rx

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// observed is the result of one Observe.
type observed struct {
	items   <-chan rxgo.Item
	made    origin
	own     *watchedContext // set if the observable was opened for this subscription, else nil
	ifEmpty error           // what an end without any item means, nil for success
}

// subscribe observes o, which was made as inspect found, under the context run. own is given if o was opened for this
// subscription alone: it is o's context, and ends with run.
func subscribe(run context.Context, own *watchedContext, o rxgo.Observable, made origin) (observed, error) {
	observe := func() observed {
		return observed{items: o.Observe(rxgo.WithContext(run)), made: made, own: own}
	}
	if made.kind != events {
		return observe(), nil
	}
	// An event source that is blocked by one of its observers blocks Observe too.
	done := make(chan observed)
	go func() {
		s := observe()
		select {
		case done <- s:
		case <-run.Done():
			s.abandon()
		}
	}()
	select {
	case s := <-done:
		return s, nil
	case <-run.Done():
		return observed{}, ending.ContextError(run)
	}
}

// next returns the n-th item that is a value, or false and the error that ends the run.
func (o *observed) next(ctx context.Context, n int) (item rxgo.Item, more bool, err error) {
	if err := ending.ContextError(ctx); err != nil {
		return item, false, err // check before taking an item from a channel that may be the caller's
	}
	select {
	case <-ctx.Done():
		return item, false, ending.ContextError(ctx)
	case item, more = <-o.items:
	}
	if more && item.E == nil {
		return item, true, nil
	}
	if !more && n == 1 {
		item.E = o.ifEmpty
	}
	return item, false, ending.Error(ctx, item.E)
}

// drain is what to do with the items of a subscription that is no longer needed. Its context is cancelled, and a
// producer that watches the context ends. But many producers, rxgo's Merge and Concat among them, send without checking
// the context, and block until somebody receives.
type drain uint8

const (
	drainNone    drain = iota // nobody sends, or the channel is not the subscription's own
	drainMost                 // the channel is closed when its producers are done
	drainBriefly              // the channel may never be closed
	drainAll                  // a source that others share is blocked as long as nobody receives
)

const (
	mostDrained = 1 << 20 // how many items are received from a producer that may never stop
	turns       = 1000    // how often other goroutines may run, so that those about to send do so
)

// abandon gives up the subscription without waiting for it. The goroutine that it may start outlives the run on
// purpose: nobody can know when a source that ignores its context is done, so nobody can wait for it. It uses no timer,
// so a bubble of testing/synctest has no timer left when its test has returned.
func (o *observed) abandon() {
	drain := o.made.drain(o.items, o.own)
	if drain == drainNone {
		return
	}
	select {
	case _, ok := <-o.items:
		if !ok {
			return
		}
	default:
	}
	switch drain {
	case drainMost:
		go receive(o.items, mostDrained)
	case drainAll:
		go receive(o.items, math.MaxInt)
	default:
		go receiveBriefly(o.items)
	}
}

// receive receives until the channel is closed, or until it has received most items: then the producer seems to have no
// end.
func receive(items <-chan rxgo.Item, most int) {
	for range most {
		if _, ok := <-items; !ok {
			return
		}
	}
}

// receiveBriefly receives what is being sent, or is about to be.
func receiveBriefly(items <-chan rxgo.Item) {
	for range turns {
		select {
		case <-items:
		default:
			runtime.Gosched()
		}
	}
}

// watchedContext is the context of an attempt. It records whether Done has been called, that is, whether the source
// waits for its end.
type watchedContext struct {
	context.Context
	watched atomic.Bool
}

func (c *watchedContext) Done() <-chan struct{} {
	if !c.watched.Load() { // a source may call it for each item, from several goroutines
		c.watched.Store(true)
	}
	return c.Context.Done()
}
