package streamtest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// ErrDiagram is the error that "#" stands for, in the diagrams of sources and of expectations. See [Errors] and
// [Expectation.Error] for others.
var ErrDiagram = errors.New("the error # of a diagram")

// Expectation is a stream that was run, and waits for the diagram that it should be.
type Expectation[T any] struct {
	sub     *subscriber[T]
	target  error
	checked bool
}

// Expect subscribes to st at once, under a context that ends with the session and carries its mock clock; ToBe checks
// what came. So the streams of several Expect calls run side by side:
//
//	a, b := streamtest.Expect(s, shared), streamtest.Expect(s, shared)
//	a.ToBe("--a--|")
//	b.ToBe("--a--|")
//
// A subscription diagram says when to subscribe and when to cancel, if not at once and never: "--^----!", or "-------!".
// What comes at the instant of "!" is not seen any more.
func Expect[T any](s *Session, st stream.Stream[T], during ...string) *Expectation[T] {
	s.report.Helper()
	if st == nil {
		s.report.Fatalf("streamtest: Expect: the stream is nil")
	}
	if len(during) > 1 {
		s.report.Fatalf("streamtest: Expect: %d subscription diagrams, want at most 1", len(during))
	}
	when := subscription{open: true}
	for _, text := range during {
		var err error
		if when, _, err = parseDuring(text); err != nil {
			s.report.Fatalf("streamtest: Expect: %v", err)
		}
	}
	e := &Expectation[T]{sub: subscribe(s, "Expect", st, when), target: ErrDiagram}
	s.watching = append(s.watching, e)
	return e
}

// Error says which error "#" stands for in the diagram of ToBe: one for which errors.Is(err, target) holds, or any if
// target is nil. Without it, that is ErrDiagram. The panic of a stream is none.
func (e *Expectation[T]) Error(target error) *Expectation[T] {
	e.target = target
	return e
}

// ToBe lets time pass until the end of the diagram and fails the test, with both diagrams, if the stream was not as it
// says. The instant 0 is that of Expect. The letters stand for the given values, or for themselves, as for [Cold]. Values
// are compared as reflect.DeepEqual does.
//
// With "|" or "#" the stream must end there. A diagram without says what happens until it is over; what comes afterwards
// is not looked at, and the subscription lasts until the session ends it. ToBe is called once.
func (e *Expectation[T]) ToBe(diagram string, values ...map[string]T) {
	s := e.sub.session
	s.report.Helper()
	if e.checked {
		s.report.Fatalf("streamtest: ToBe: called a second time, want one diagram for each Expect")
	}
	e.checked = true
	letters, err := newLetters(values)
	if err != nil {
		s.report.Fatalf("streamtest: ToBe: %v", err)
	}
	d, err := parse(diagram, false)
	if err != nil {
		s.report.Fatalf("streamtest: ToBe: %v", err)
	}
	want, err := wanted(d, letters, e.target)
	if err != nil {
		s.report.Fatalf("streamtest: ToBe: %v", err)
	}
	got := e.watch(d, want)
	if i := e.difference(want, got); i >= 0 {
		s.report.Errorf("streamtest: the stream is not as expected:\n%s", compare(d, want, got, i, letters))
	}
	e.sub.ignore()
}

// wanted returns a diagram's events.
func wanted[T any](d diagram, l letters[T], target error) ([]event[T], error) {
	values, err := resolve(d, l)
	if err != nil {
		return nil, err
	}
	events := make([]event[T], len(d.marks))
	for i, m := range d.marks {
		events[i] = event[T]{at: m.at, kind: m.kind, value: values[i]}
		if m.kind == failed {
			events[i].err = target
		}
	}
	return events, nil
}

// watch lets time pass until the diagram is over, and returns the events up to then. One that should have ended by then
// and has not is watched for as long again, so that the failure can show what it does instead.
func (e *Expectation[T]) watch(d diagram, want []event[T]) []event[T] {
	s := e.sub.session
	rest := func(until time.Duration) time.Duration { return max(until-time.Since(e.sub.from), 0) }
	if !d.over() {
		s.Advance(rest(d.spans)) // the last frame is over when the next one begins
		return e.upTo(d.spans)
	}
	end := d.marks[len(d.marks)-1].at
	s.Advance(rest(end))
	step := max(frame, end/100)
	for until := end + step; !e.sub.returned() && len(e.sub.seen()) <= len(want) && until <= 2*end+100*step; until += step {
		s.Advance(rest(until))
	}
	return e.upTo(longest)
}

// upTo returns the events before t.
func (e *Expectation[T]) upTo(t time.Duration) []event[T] {
	events := e.sub.seen()
	n := slices.IndexFunc(events, func(e event[T]) bool { return e.at >= t })
	if n < 0 {
		return events
	}
	return events[:n]
}

// difference returns the index of the first event that differs, -1 if none does.
func (e *Expectation[T]) difference(want, got []event[T]) int {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || !same(want[i], got[i]) {
			return i
		}
	}
	return -1
}

func same[T any](want, got event[T]) bool {
	if want.at != got.at || want.kind != got.kind {
		return false
	}
	switch want.kind {
	case value:
		return reflect.DeepEqual(want.value, got.value)
	case failed:
		return matches(got.err, want.err)
	}
	return true
}

// verify fails an expectation that nobody has checked.
func (e *Expectation[T]) verify() {
	e.sub.session.report.Helper()
	if !e.checked {
		e.sub.session.report.Errorf("streamtest: Expect without ToBe, at:%v", e.sub.place)
	}
}

func (e *Expectation[T]) stop() {}
