package streamtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// subscriber runs a stream on its own goroutine and records the events.
type subscriber[T any] struct {
	session *Session
	name    string // Watch or Expect
	callers virtual.Callers
	owner   *virtual.Owner
	cancel  context.CancelCauseFunc
	from    time.Time
	news    chan struct{} // full when an event has come

	mu      sync.Mutex
	events  []marble.Event[T] // their times count from the subscription
	over    bool              // the stream has returned
	ignores bool              // events are no longer recorded
}

// subscribe runs st under a context that ends with the session's, at the times of the subscription diagram.
func subscribe[T any](s *Session, name string, st stream.Stream[T], during string) *subscriber[T] {
	s.report.Helper()
	if st == nil {
		s.report.Fatalf("streamtest: %s: the stream is nil", name)
	}
	when, err := marble.ParseSubscription(during)
	if err != nil {
		s.report.Fatalf("streamtest: %s: %v", name, err)
	}
	ctx, cancel, owner := s.subscriber()
	sub := &subscriber[T]{
		session: s, name: name, callers: virtual.CallersOf(1), owner: owner, cancel: cancel,
		from: time.Now(), news: make(chan struct{}, 1),
	}
	go func() {
		// On the system clock, so that a subscriber at an instant receives what a hot source does after that.
		begin := time.NewTimer(when.From)
		defer begin.Stop()
		select {
		case <-begin.C:
			sub.run(ctx, st)
		case <-ctx.Done():
			sub.note(marble.Event[T]{Kind: marble.Failure, Err: context.Cause(ctx)}, true)
		}
	}()
	if !when.Open {
		time.AfterFunc(when.To, sub.unsubscribe)
	}
	return sub
}

// crash is the end of a stream that does not return.
type crash string

func (c crash) Error() string { return "streamtest: the stream " + string(c) }

// matches reports whether a stream's error is target, or any error of the stream's own if target is nil.
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
		kind := marble.End
		if err != nil {
			kind = marble.Failure
		}
		sub.note(marble.Event[T]{Kind: kind, Err: err}, true)
	}()
	err = st(ctx, func(v T) bool {
		sub.note(marble.Event[T]{Value: v}, false)
		return true
	})
}

func (sub *subscriber[T]) note(e marble.Event[T], over bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.over = sub.over || over
	if sub.ignores {
		return
	}
	e.At = time.Since(sub.from)
	sub.events = append(sub.events, e)
	select {
	case sub.news <- struct{}{}:
	default:
	}
}

// unsubscribe cancels the stream. Later events are not recorded.
func (sub *subscriber[T]) unsubscribe() {
	sub.ignore()
	sub.cancel(nil)
}

// ignore stops the recording.
func (sub *subscriber[T]) ignore() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.ignores = true
}

// seen returns the events so far.
func (sub *subscriber[T]) seen() []marble.Event[T] {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.events[:len(sub.events):len(sub.events)]
}

// returned reports whether the stream has returned.
func (sub *subscriber[T]) returned() bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.over
}

// verify reports the timers that a stream has left armed after its return.
func (sub *subscriber[T]) verify() {
	sub.session.report.Helper()
	if !sub.returned() {
		return
	}
	if left := sub.session.bubble.Armed(sub.owner); len(left) > 0 {
		sub.owner.Silent = true // already reported
		sub.session.report.Errorf("streamtest: %s: the stream has returned and left %s armed:%s\n    subscribed to at:%v",
			sub.name, count(len(left), "timer"), virtual.List(left), sub.callers)
	}
}
