package streamtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// subscriber runs a stream on its own goroutine and records the events.
type subscriber[T any] struct {
	session *Session
	name    string          // Watch or Expect, or what a trial does
	callers virtual.Callers // of subscribe
	ctx     context.Context
	cancel  context.CancelCauseFunc
	owner   *virtual.Owner
	from    time.Time
	news    judge.News // full when an event has come

	mu      sync.Mutex
	events  []marble.Event[T] // their times count from the subscription
	done    bool              // the stream has returned
	ignores bool              // events are no longer recorded,
	ends    bool              // or not from this time on:
	to      time.Duration
}

func newSubscriber[T any](s *Session, name string) *subscriber[T] {
	sub := &subscriber[T]{session: s, name: name, owner: new(virtual.Owner), from: time.Now(), news: judge.NewNews()}
	ctx, cancel := context.WithCancelCause(s.ctx)
	sub.ctx, sub.cancel = stream.WithClock(ctx, virtual.View{Clock: &s.bubble.Clock, Owner: sub.owner}), cancel
	return sub
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
	sub := newSubscriber[T](s, name)
	sub.callers, sub.ends, sub.to = virtual.Here(), !when.Open, when.To
	go sub.run(func(ctx context.Context, yield func(T) bool) error {
		begin := timer.New(timer.System{}) // so that a subscriber at an instant receives what a hot source does after that
		if err := begin.Wait(ctx, when.From); err != nil {
			return err
		}
		return st(ctx, yield)
	}, func(v T) bool {
		sub.note(marble.Event[T]{Value: v}, false)
		return true
	})
	if !when.Open {
		time.AfterFunc(when.To, sub.unsubscribe)
	}
	return sub
}

// crash is the end of a stream that does not return: a panic or, if there is no stack, a runtime.Goexit.
type crash struct {
	value any
	stack []byte
}

func (c *crash) Error() string {
	if c.stack == nil {
		return "streamtest: the stream called runtime.Goexit"
	}
	return fmt.Sprintf("streamtest: the stream panicked: %v\n%s", c.value, c.stack)
}

// matches reports whether a stream's error is target, or any error of the stream's own if target is nil.
func matches(err, target error) bool {
	_, crashed := err.(*crash)
	return !crashed && (target == nil || errors.Is(err, target))
}

// run runs st, and records how it ends.
func (sub *subscriber[T]) run(st stream.Stream[T], yield func(T) bool) {
	end := marble.Event[T]{Kind: marble.Failure, Err: new(crash)}
	defer func() {
		if v := recover(); v != nil {
			end.Err = &crash{v, debug.Stack()}
		}
		sub.note(end, true)
	}()
	if end.Err = st(sub.ctx, yield); end.Err == nil {
		end.Kind = marble.End
	}
}

// note records an event. It returns the number of events so far, and whether the stream had returned before this one.
func (sub *subscriber[T]) note(e marble.Event[T], done bool) (n int, late bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	late, sub.done = sub.done, sub.done || done
	if e.At = time.Since(sub.from); !sub.ignores && (!sub.ends || e.At < sub.to) {
		sub.events = append(sub.events, e)
	}
	sub.news.Tell()
	return len(sub.events), late
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
	return sub.done
}

// armed reports, once, the timers that a stream has left armed after its return; "" if there are none.
func (sub *subscriber[T]) armed() string {
	left := sub.session.bubble.Armed(sub.owner)
	if len(left) == 0 || !sub.returned() {
		return ""
	}
	sub.owner.Silent = true
	return fmt.Sprintf("the stream has returned and left %s armed:%s", judge.Count(len(left), "timer"), virtual.List(left))
}

// verify reports the timers that a stream has left armed after its return.
func (sub *subscriber[T]) verify() {
	if left := sub.armed(); left != "" {
		sub.session.report.Errorf("streamtest: %s: %s\n    subscribed to at:%v", sub.name, left, sub.callers)
	}
}
