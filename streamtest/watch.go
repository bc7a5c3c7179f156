package streamtest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Watcher is a subscription that a test follows step by step. Its methods return it, so that steps can be chained.
type Watcher[T any] struct {
	sub   *subscriber[T]
	taken int // events
}

// Watch subscribes to st, under a context that ends with the session and carries its mock clock. The methods then say
// what comes, and let time pass as needed:
//
//	streamtest.Watch(s, src.RetryWhen(policy)).
//		Next(1).
//		NoEvent(time.Second).
//		Next(2).
//		End()
//
// What was not asked for by the end of the test fails it, the end of the stream included; a stream that still runs is
// cancelled.
func Watch[T any](s *Session, st stream.Stream[T]) *Watcher[T] {
	s.report.Helper()
	if st == nil {
		s.report.Fatalf("streamtest: Watch: the stream is nil")
	}
	w := &Watcher[T]{sub: subscribe(s, "Watch", st, subscription{open: true})}
	s.watching = append(s.watching, w)
	return w
}

// Next lets time pass until the next event, which must be the value v, compared as reflect.DeepEqual does.
func (w *Watcher[T]) Next(v T) *Watcher[T] {
	w.sub.session.report.Helper()
	e := w.next(fmt.Sprintf("the value %s", show(v)))
	if e.kind != value || !reflect.DeepEqual(e.value, v) {
		w.fail("want the value %s, got %v", show(v), e)
	}
	return w
}

// Error lets time pass until the next event, which must be an error for which errors.Is(err, target) holds; any error,
// if target is nil. The panic of a stream is none.
func (w *Watcher[T]) Error(target error) *Watcher[T] {
	w.sub.session.report.Helper()
	want := "an error"
	if target != nil {
		want = fmt.Sprintf("an error that is %q", target)
	}
	e := w.next(want)
	if e.kind != failed || !matches(e.err, target) {
		w.fail("want %s, got %v", want, e)
	}
	return w
}

// End lets time pass until the next event, which must be the end.
func (w *Watcher[T]) End() *Watcher[T] {
	w.sub.session.report.Helper()
	if e := w.next("the end"); e.kind != ended {
		w.fail("want the end, got %v", e)
	}
	return w
}

// NoEvent lets d pass, in which nothing may come. What comes exactly when d is over is the next event, so that
// NoEvent(time.Second).Next(v) says that v comes after a second. NoEvent(0) says that nothing waits to be asked for.
func (w *Watcher[T]) NoEvent(d time.Duration) *Watcher[T] {
	s := w.sub.session
	s.report.Helper()
	s.hand.settle()
	until := time.Since(w.sub.from) + d
	s.Advance(d)
	if events := w.sub.seen()[w.taken:]; len(events) > 0 && (events[0].at < until || d == 0) {
		w.fail("want no event for %v, got %v", d, events[0])
	}
	return w
}

// Rest ends the subscription and returns the values that nobody has asked for, with the error that the stream had ended
// with by then, if any. No time passes.
func (w *Watcher[T]) Rest() ([]T, error) {
	s := w.sub.session
	s.report.Helper()
	s.hand.settle()
	w.sub.unsubscribe()
	s.hand.settle()
	var rest []T
	var err error
	events := w.sub.seen()
	for _, e := range events[w.taken:] {
		switch e.kind {
		case value:
			rest = append(rest, e.value)
		case failed:
			err = e.err
		}
	}
	w.taken = len(events)
	if !w.sub.returned() {
		w.fail("the stream has not returned, but its context has ended")
	}
	return rest, err
}

// next lets time pass until there is an event that nobody has asked for, and takes it.
func (w *Watcher[T]) next(want string) event[T] {
	s := w.sub.session
	s.report.Helper()
	s.hand.settle()
	for {
		events := w.sub.seen()
		if w.taken < len(events) {
			s.hand.settle()
			w.taken++
			return events[w.taken-1]
		}
		if len(events) > 0 && events[len(events)-1].kind != value {
			w.fail("want %s, got nothing more: the stream is over", want)
		}
		if s.end.passed() {
			w.fail("want %s, got nothing: nothing happens any more", want)
		}
		s.end.asked.Store(true)
		select {
		case <-w.sub.news:
		case <-s.end.done:
		}
		s.end.asked.Store(false)
	}
}

// fail ends the test, with all that has come.
func (w *Watcher[T]) fail(format string, args ...any) {
	s := w.sub.session
	s.report.Helper()
	var b strings.Builder
	events := w.sub.seen()
	for i, e := range events {
		if i >= 20 && i < len(events)-5 {
			if i == 20 {
				b.WriteString("\n    …")
			}
			continue
		}
		fmt.Fprintf(&b, "\n    %v at %v", e, e.at)
	}
	if len(events) == 0 {
		b.WriteString(" nothing")
	}
	s.report.Fatalf("streamtest: Watch, at %v: %s; what has come:%s", time.Since(w.sub.from), fmt.Sprintf(format, args...), b.String())
}

// verify fails a watch with events that nobody has asked for.
func (w *Watcher[T]) verify() {
	s := w.sub.session
	s.report.Helper()
	left := w.sub.seen()[w.taken:]
	if len(left) == 0 {
		return
	}
	var b strings.Builder
	for _, e := range left {
		fmt.Fprintf(&b, "\n    %v at %v", e, e.at)
	}
	s.report.Errorf("streamtest: Watch: %s that the test has not asked for:%s\n    subscribed to at:%v", count(len(left), "event"), b.String(), w.sub.place)
}

func (w *Watcher[T]) stop() {}
