package rx

import (
	"context"
	"runtime"

	"github.com/reactivex/rxgo/v2"
)

// subscription is what one Observe has returned.
type subscription struct {
	items   <-chan rxgo.Item
	left    leftover
	ctx     context.Context
	closed  bool
	ifEmpty error // what an end without any item means, nil for success
}

// subscribe observes o, which is made as inspect has found. own tells that it was opened for this one subscription.
func subscribe(ctx context.Context, o rxgo.Observable, made anatomy, own bool) (subscription, error) {
	observe := func() subscription {
		items := o.Observe(rxgo.WithContext(ctx))
		return subscription{items: items, ctx: ctx, left: made.left(items, own)}
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
		case <-ctx.Done():
			s.abandon()
		}
	}()
	select {
	case s := <-done:
		return s, nil
	case <-ctx.Done():
		return subscription{}, context.Cause(ctx)
	}
}

// leftover says what is done with the items of a subscription that nobody wants any more. Its context is cancelled,
// and a producer that heeds it ends. But many send without looking at it, rxgo's Merge and Concat among them, and stay
// in that send until somebody receives.
type leftover uint8

const (
	leave  leftover = iota // nobody sends, or the channel is not the subscription's own
	drain                  // the channel is closed when its producers are done
	heeded                 // the same, if its producers heed the context; else it may never be closed
	linger                 // the channel may never be closed
	serve                  // a source that others share is held up as long as nobody receives
)

const (
	patience = 1 << 20 // how many items are received of a producer that may never stop
	turns    = 1000    // how often others are let run, so that those on their way to a send get there
)

// abandon lets go of the subscription, without waiting for it. The goroutine that it may start outlives the run on
// purpose: nobody can tell when a source that ignores its context is done, so nobody can wait for it. It uses no
// timer: a bubble of testing/synctest has none left when its test has returned.
func (s *subscription) abandon() {
	if s.items == nil || s.closed || s.left == leave {
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
	case s.left == drain, s.left == heeded && isHeeded(s.ctx):
		go drainItems(s.items)
	case s.left == serve:
		go serveOn(s.items)
	default:
		go lingerOn(s.items)
	}
}

// drainItems receives until the channel is closed, or for so long that a producer seems to have no end.
func drainItems(items <-chan rxgo.Item) {
	for range patience {
		if _, ok := <-items; !ok {
			return
		}
	}
}

// lingerOn receives what is being sent, or is about to be.
func lingerOn(items <-chan rxgo.Item) {
	for range turns {
		select {
		case _, ok := <-items:
			if !ok {
				return
			}
		default:
			runtime.Gosched()
		}
	}
}

// serveOn receives until the channel is closed, which is when the source has ended.
func serveOn(items <-chan rxgo.Item) {
	for range items {
	}
}
