package streamtest

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/stream"
)

// Watcher is a subscription that a test checks step by step. Its methods return it, so that steps can be chained.
type Watcher[T any] struct {
	*subscriber[T]

	taken int // events
}

// Watch subscribes to st, under a context that ends with the session and carries its clock. The methods then check the
// events, and let time pass as needed:
//
//	streamtest.Watch(s, src.RetryWhen(policy)).
//		Next(1).
//		NoEvent(time.Second).
//		Next(2).
//		End()
//
// Events that were not checked at the end of the test fail it, the end of the stream included. A stream that still runs
// is cancelled.
func Watch[T any](s *Session, st stream.Stream[T]) *Watcher[T] {
	s.report.Helper()
	w := &Watcher[T]{subscriber: subscribe(s, "Watch", st, "")}
	s.atEnd = append(s.atEnd, w.verify)
	return w
}

// Next lets time pass until the next event, which must be the value v, compared by reflect.DeepEqual.
func (w *Watcher[T]) Next(v T) *Watcher[T] {
	w.session.report.Helper()
	return w.must("the value "+marble.Show(v), func(e marble.Event[T]) bool {
		return e.Kind == marble.Value && reflect.DeepEqual(e.Value, v)
	})
}

// Error lets time pass until the next event, which must be an error for which errors.Is(err, target) holds, or any
// error if target is nil. A panic of a stream is not such an error.
func (w *Watcher[T]) Error(target error) *Watcher[T] {
	w.session.report.Helper()
	want := "an error"
	if target != nil {
		want = fmt.Sprintf("an error that is %q", target)
	}
	return w.must(want, func(e marble.Event[T]) bool { return e.Kind == marble.Failure && matches(e.Err, target) })
}

// End lets time pass until the next event, which must be the end.
func (w *Watcher[T]) End() *Watcher[T] {
	w.session.report.Helper()
	return w.must("the end", func(e marble.Event[T]) bool { return e.Kind == marble.End })
}

// NoEvent lets d pass, during which no event may come. An event exactly when d is over is the next event, so
// NoEvent(time.Second).Next(v) checks that v comes after exactly a second. NoEvent(0) checks that no event waits to be
// checked.
func (w *Watcher[T]) NoEvent(d time.Duration) *Watcher[T] {
	s := w.session
	s.report.Helper()
	s.bubble.Settle()
	until := time.Since(w.from) + d
	s.Advance(d)
	if events := w.seen()[w.taken:]; len(events) > 0 && (events[0].At < until || d == 0) {
		w.fail("want no event for %v, got %v", d, events[0])
	}
	return w
}

// Rest ends the subscription and returns the values that were not checked, and the error if the stream had ended with
// one by then. No time passes.
func (w *Watcher[T]) Rest() ([]T, error) {
	s := w.session
	s.report.Helper()
	s.bubble.Settle()
	w.unsubscribe()
	s.bubble.Settle()
	var rest []T
	var err error
	events := w.seen()
	for _, e := range events[w.taken:] {
		switch e.Kind {
		case marble.Value:
			rest = append(rest, e.Value)
		case marble.Failure:
			err = e.Err
		}
	}
	w.taken = len(events)
	return rest, err
}

// must lets time pass until there is an unchecked event, and takes it: it must be what is wanted.
func (w *Watcher[T]) must(want string, is func(e marble.Event[T]) bool) *Watcher[T] {
	s := w.session
	s.report.Helper()
	s.bubble.Settle()
	for {
		events := w.seen()
		if w.taken < len(events) {
			s.bubble.Settle()
			if w.taken++; !is(events[w.taken-1]) {
				w.fail("want %s, got %v", want, events[w.taken-1])
			}
			return w
		}
		if len(events) > 0 && events[len(events)-1].Kind != marble.Value {
			w.fail("want %s, got nothing more: the stream is over", want)
		}
		if !s.bubble.Await(w.news) {
			w.fail("want %s, got nothing: nothing happens any more", want)
		}
	}
}

// mostEvents is the number of events that a report shows.
const mostEvents = 20

// list writes events, one a line, without the first ones if there are many.
func list[T any](events []marble.Event[T]) string {
	var b strings.Builder
	if more := len(events) - mostEvents; more > 0 {
		fmt.Fprintf(&b, "\n    … (%d more)", more)
		events = events[more:]
	}
	for _, e := range events {
		fmt.Fprintf(&b, "\n    %v at %v", e, e.At)
	}
	return cmp.Or(b.String(), " nothing")
}

// fail ends the test, with the events so far.
func (w *Watcher[T]) fail(format string, args ...any) {
	s := w.session
	s.report.Helper()
	s.report.Fatalf("streamtest: Watch, at %v: %s; events so far:%s", time.Since(w.from), fmt.Sprintf(format, args...), list(w.seen()))
}

// verify fails a watch with unchecked events.
func (w *Watcher[T]) verify() {
	w.subscriber.verify()
	if left := w.seen()[w.taken:]; len(left) > 0 {
		w.session.report.Errorf("streamtest: Watch: %s that the test has not checked:%s\n    subscribed to at:%v", judge.Count(len(left), "event"), list(left), w.callers)
	}
}
