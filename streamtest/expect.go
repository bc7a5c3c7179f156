package streamtest

import (
	"reflect"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/stream"
)

// Expectation is a stream that runs and is to be compared with a diagram.
type Expectation[T any] struct {
	*subscriber[T]

	target  error
	checked bool
}

// Expect subscribes to st at once, under a context that ends with the session and carries its clock. ToBe checks the
// result. So the streams of several Expect calls run concurrently:
//
//	a, b := streamtest.Expect(s, shared), streamtest.Expect(s, shared)
//	a.ToBe("--a--|")
//	b.ToBe("--a--|")
func Expect[T any](s *Session, st stream.Stream[T]) *Expectation[T] {
	s.report.Helper()
	return ExpectDuring(s, st, "")
}

// ExpectDuring is [Expect] with a subscription diagram that says when to subscribe and when to cancel: "--^----!", or
// "-------!" to subscribe at once, or "--^" to never cancel. Events at the instant of "!" are not recorded.
func ExpectDuring[T any](s *Session, st stream.Stream[T], during string) *Expectation[T] {
	s.report.Helper()
	e := &Expectation[T]{subscribe(s, "Expect", st, during), ErrDiagram, false}
	s.atEnd = append(s.atEnd, e.verify)
	return e
}

// Error sets the error for "#" in the diagram of ToBe: any error for which errors.Is(err, target) holds, or any error
// at all if target is nil. Without Error, "#" is ErrDiagram. A panic of a stream is not such an error.
func (e *Expectation[T]) Error(target error) *Expectation[T] {
	e.target = target
	return e
}

// ToBe lets time pass until the end of the diagram. It fails the test, with both diagrams, if the stream differed. The
// instant 0 is that of Expect. Letters and digits are values as for [Cold].
//
// With "|" or "#" the stream must end there. A diagram without them describes events until its end: later events are
// not checked, and the subscription lasts until the session ends it. Call ToBe once.
func (e *Expectation[T]) ToBe(diagram string) {
	e.session.report.Helper()
	e.ToBeWith(diagram, nil)
}

// ToBeWith is [Expectation.ToBe] with a value for each letter, compared by reflect.DeepEqual.
func (e *Expectation[T]) ToBeWith(diagram string, values map[string]T) {
	report := e.session.report
	report.Helper()
	if e.checked {
		report.Fatalf("streamtest: ToBe: called a second time, want one diagram for each Expect")
	}
	e.checked = true
	want, err := marble.Parse(diagram, false, values, e.target)
	if err != nil {
		report.Fatalf("streamtest: ToBe: %v", err)
	}
	got := e.follow(want)
	i := 0
	for i < min(len(want.Events), len(got)) && same(want.Events[i], got[i]) {
		i++
	}
	if i < max(len(want.Events), len(got)) {
		report.Errorf("streamtest: the stream is not as expected:\n%s", marble.Compare(want, got, i))
	}
	e.ignore()
}

// follow lets time pass until the diagram is over, and returns the events until then. If a stream should have ended by
// then and has not, follow continues for the same time again, so that the failure can show what the stream does.
func (e *Expectation[T]) follow(want marble.Diagram[T]) []marble.Event[T] {
	s := e.session
	advanceTo := func(at time.Duration) { s.Advance(max(at-time.Since(e.from), 0)) }
	if !marble.Over(want.Events) {
		advanceTo(want.Spans) // the last frame is over when the next one begins
		events := e.seen()
		if n := slices.IndexFunc(events, func(e marble.Event[T]) bool { return e.At >= want.Spans }); n >= 0 {
			events = events[:n]
		}
		return events
	}
	last := want.Events[len(want.Events)-1].At
	advanceTo(last)
	step := max(marble.Frame, last/100)
	for at := last + step; !e.returned() && len(e.seen()) <= len(want.Events) && at <= 2*last+100*step; at += step {
		advanceTo(at)
	}
	return e.seen()
}

func same[T any](want, got marble.Event[T]) bool {
	return want.At == got.At && want.Kind == got.Kind && reflect.DeepEqual(want.Value, got.Value) &&
		(want.Kind != marble.Failure || matches(got.Err, want.Err))
}

// verify fails an expectation that was not checked.
func (e *Expectation[T]) verify() {
	if !e.checked {
		e.session.report.Errorf("streamtest: Expect without ToBe, at:%v", e.callers)
	}
	e.subscriber.verify()
}
