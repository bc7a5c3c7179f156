package streamtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// event is what a subscription has seen.
type event[T any] struct {
	at    time.Duration // since the subscription was made
	kind  kind
	value T
	err   error
}

func (e event[T]) String() string {
	switch e.kind {
	case ended:
		return "the end"
	case failed:
		if e.err == nil { // what Error(nil) wants
			return "an error"
		}
		return fmt.Sprintf("the error %q", e.err)
	default:
		return fmt.Sprintf("the value %s", show(e.value))
	}
}

// show writes a value so that strings can be told from numbers.
func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%+v", v)
}

// subscriber runs a stream on a goroutine of its own and notes what comes.
type subscriber[T any] struct {
	session *Session
	name    string // Watch or Expect
	place   place
	owner   *ledger
	cancel  context.CancelCauseFunc
	from    time.Time
	until   *time.Timer   // unsubscribes, if the subscription says when
	news    chan struct{} // holds one when an event has come
	done    chan struct{} // closed when the stream has returned

	mu       sync.Mutex
	events   []event[T]
	over     bool // the stream has returned
	unwanted bool // what comes from now on is not noted
}

// subscribe runs st under a context that ends with the session's, after the time that the subscription gives.
func subscribe[T any](s *Session, name string, st stream.Stream[T], when subscription) *subscriber[T] {
	ctx, cancel, owner := s.subscriber()
	sub := &subscriber[T]{
		session: s, name: name, place: here(1), owner: owner, cancel: cancel,
		from: time.Now(), news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go func() {
		defer close(sub.done)
		// On the bubble's own clock, so that who subscribes at an instant sees what a hot source does then.
		begin := time.NewTimer(when.from)
		defer begin.Stop()
		select {
		case <-begin.C:
			sub.run(ctx, st)
		case <-ctx.Done():
			sub.note(event[T]{kind: failed, err: context.Cause(ctx)}, true)
		}
	}()
	if !when.open {
		sub.until = time.AfterFunc(when.to, sub.unsubscribe)
	}
	s.watching = append(s.watching, sub)
	return sub
}

// crash is how a stream ends that does not return.
type crash string

func (c crash) Error() string { return "streamtest: the stream " + string(c) }

// matches reports whether a stream's error is the target: any error of the stream's own, if that is nil.
func matches(err, target error) bool {
	_, crashed := err.(crash)
	return !crashed && (target == nil || errors.Is(err, target))
}

func (sub *subscriber[T]) run(ctx context.Context, st stream.Stream[T]) {
	var err error = crash("called runtime.Goexit")
	defer func() {
		if v := recover(); v != nil {
			err = crash(fmt.Sprintf("panicked: %v\n%s", v, debug.Stack()))
		}
		kind := ended
		if err != nil {
			kind = failed
		}
		sub.note(event[T]{kind: kind, err: err}, true)
	}()
	err = st(ctx, func(v T) bool {
		sub.note(event[T]{value: v}, false)
		return true
	})
}

func (sub *subscriber[T]) note(e event[T], over bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.over = sub.over || over
	if sub.unwanted {
		return
	}
	e.at = time.Since(sub.from)
	sub.events = append(sub.events, e)
	select {
	case sub.news <- struct{}{}:
	default:
	}
}

// unsubscribe cancels the stream; what it does from then on is not noted.
func (sub *subscriber[T]) unsubscribe() {
	sub.ignore()
	sub.cancel(nil)
}

// ignore has nothing noted from now on.
func (sub *subscriber[T]) ignore() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.unwanted = true
}

// seen returns the events so far.
func (sub *subscriber[T]) seen() []event[T] {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.events[:len(sub.events):len(sub.events)]
}

// returned reports whether the stream has.
func (sub *subscriber[T]) returned() bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.over
}

// verify reports what a stream that has returned has left behind.
func (sub *subscriber[T]) verify() {
	sub.session.report.Helper()
	if !sub.returned() {
		return
	}
	if left := sub.session.hand.left(func(owner *ledger) bool { return owner == sub.owner }); len(left) > 0 {
		sub.owner.own = true // reported
		sub.session.report.Errorf("streamtest: %s: the stream has returned and left %s armed:%s\n    subscribed to at:%v",
			sub.name, count(len(left), "timer"), list(left), sub.place)
	}
}

func (sub *subscriber[T]) stop() {
	if sub.until != nil {
		sub.until.Stop()
	}
	sub.unsubscribe()
}
