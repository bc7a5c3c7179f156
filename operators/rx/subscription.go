package rx

import (
	"context"
	"runtime"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// subscription is what one Observe has returned.
type subscription struct {
	items   <-chan rxgo.Item
	drain   drain
	own     *watchedContext // of an observable that was opened for this subscription, else nil
	ifEmpty error           // what an end without any item means, nil for success
}

// subscribe observes o, which is made as inspect has found, under the context run. own is given if o was opened for
// this one subscription, with own for its context, which ends with run.
func subscribe(run context.Context, own *watchedContext, o rxgo.Observable, made origin) (subscription, error) {
	observe := func() subscription {
		items := o.Observe(rxgo.WithContext(run))
		return subscription{items: items, own: own, drain: made.drain(items, own != nil)}
	}
	if made.kind != events {
		return observe(), nil
	}
	// An event source that is held up by one of its observers holds up Observe as well.
	done := make(chan subscription)
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
		return subscription{}, ending.ContextError(run)
	}
}

// next returns the n-th item that is a value, or false and how the run ends.
func (s *subscription) next(ctx context.Context, n int) (item rxgo.Item, more bool, err error) {
	if err := ending.ContextError(ctx); err != nil {
		return item, false, err // before anything is taken from a channel that may be the caller's
	}
	select {
	case <-ctx.Done():
		return item, false, ending.ContextError(ctx)
	case item, more = <-s.items:
	}
	switch {
	case !more && n == 1:
		return item, false, ending.Error(ctx, s.ifEmpty)
	case !more:
		return item, false, ending.ContextError(ctx)
	case item.E != nil:
		return item, false, ending.Error(ctx, item.E)
	}
	return item, true, nil
}

// drain says what is done with the items of a subscription that nobody wants any more. Its context is cancelled, and a
// producer that watches it ends. But many send without a look at it, rxgo's Merge and Concat among them, and stay in
// that send until somebody receives.
type drain uint8

const (
	drainNone             drain = iota // nobody sends, or the channel is not the subscription's own
	drainMost                          // the channel is closed when its producers are done
	drainMostIfWatched                 // the same, if they watch the context; else as drainBriefly
	drainBriefly                       // the channel may never be closed
	drainAllUnlessWatched              // the same, if its producers watch the context; else as drainAll
	drainAll                           // a source that others share is held up as long as nobody receives
)

const (
	mostDrained = 1 << 20 // how many items are received of a producer that may never stop
	turns       = 1000    // how often others are let run, so that those on their way to a send get there
)

// abandon lets go of the subscription, without waiting for it. The goroutine that it may start outlives the run on
// purpose: nobody can tell when a source that ignores its context is done, so nobody can wait for it. It uses no
// timer: a bubble of testing/synctest has none left when its test has returned.
func (s *subscription) abandon() {
	if s.drain == drainNone {
		return
	}
	select {
	case _, ok := <-s.items:
		if !ok {
			return
		}
	default:
	}
	switch {
	case s.drain == drainMost, s.drain == drainMostIfWatched && s.own.isWatched():
		go receiveMost(s.items)
	case s.drain == drainAll, s.drain == drainAllUnlessWatched && !s.own.isWatched():
		go receiveAll(s.items)
	default:
		go receiveBriefly(s.items)
	}
}

// receiveMost receives until the channel is closed, or for so long that a producer seems to have no end.
func receiveMost(items <-chan rxgo.Item) {
	for range mostDrained {
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

// receiveAll receives until the channel is closed, which is when the source has ended.
func receiveAll(items <-chan rxgo.Item) {
	for range items {
	}
}
