// Package marble reads and draws marble diagrams, in the syntax of RxJS' TestScheduler. The comment of package
// streamtest describes the syntax.
package marble

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Kind is the kind of an event.
type Kind uint8

const (
	Value   Kind = iota
	End          // |
	Failure      // #
)

// Event is a value, the end or the error of a stream.
type Event[T any] struct {
	At    time.Duration
	Kind  Kind
	Value T
	Err   error // for a Failure

	letter string // for a Value, in a diagram that was read; "" for any
}

// String describes the event, without its time.
func (e Event[T]) String() string {
	switch {
	case e.Kind == End:
		return "the end"
	case e.Kind == Failure && e.Err == nil:
		return "an error"
	case e.Kind == Failure:
		return fmt.Sprintf("the error %q", e.Err)
	}
	return "the value " + Show(e.Value)
}

// Show returns a value's text, in which strings differ from numbers.
func Show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%+v", v)
}

// Frame is the time of one character of a diagram.
const Frame = time.Millisecond

// Longest is the maximum duration of a diagram: a hundred years.
const Longest = 100 * 365 * 24 * time.Hour

// Diagram is a marble diagram of the values, the end and the error of a stream.
type Diagram[T any] struct {
	Events []Event[T]
	Spans  time.Duration // the time of the whole diagram, from the instant 0

	values map[string]T
}

// Over reports whether events have an end or an error.
func Over[T any](events []Event[T]) bool {
	return len(events) > 0 && events[len(events)-1].Kind != Value
}

// syntax is the explanation of an unknown character.
const syntax = "a diagram consists of - (a frame of 1ms), letters and digits (values), ( ) around events at one instant, | (the end), # (an error), ^ and ! (subscribe, unsubscribe), and times such as 10ms, 1.5s or 2m with spaces around them"

// Parse reads a diagram. Its letters are the given values, or themselves, and "#" is failure. In the diagram of a hot
// source the instant 0 is at the "^", if there is one.
func Parse[T any](text string, hot bool, values map[string]T, failure error) (Diagram[T], error) {
	d := Diagram[T]{values: values}
	if err := checkLetters(values); err != nil {
		return d, err
	}
	c := newCursor(text)
	var zero time.Duration
	var zeroColumn, endColumn int
	for c.next() {
		if endColumn > 0 && c.r != '^' {
			return d, c.errorf("%q comes after the end at position %d", c.r, endColumn)
		}
		e := Event[T]{At: c.instant}
		switch {
		case c.r == '|':
			e.Kind, endColumn = End, c.column
		case c.r == '#':
			e.Kind, e.Err, endColumn = Failure, failure, c.column
		case c.r == '^' && !hot:
			return d, c.errorf("'^' is for the diagrams of hot sources and of subscriptions")
		case c.r == '^' && zeroColumn > 0:
			return d, c.errorf("a second '^', after that of position %d", zeroColumn)
		case c.r == '^':
			zero, zeroColumn = c.instant, c.column
			continue
		case c.r == '!':
			return d, c.errorf("'!' is for the diagrams of subscriptions")
		case unicode.IsLetter(c.r) || unicode.IsDigit(c.r):
			var err error
			e.letter = string(c.r)
			if e.Value, err = valueOf(e.letter, values); err != nil {
				return d, c.errorf("%v", err)
			}
		default:
			return d, c.errorf("%q has no meaning: %s", c.r, syntax)
		}
		d.Events = append(d.Events, e)
	}
	d.Spans = c.at - zero
	for i := range d.Events {
		d.Events[i].At -= zero
	}
	return d, c.err
}

// Lines returns the diagrams of a text, one per line. Empty lines do not count.
func Lines(text string) []string { return lineBreaks.Split(strings.TrimSpace(text), -1) }

var lineBreaks = regexp.MustCompile(`\s*\n\s*`) // \s matches further line breaks too

// Subscription is a subscription diagram.
type Subscription struct {
	From, To time.Duration
	Open     bool // there is no "!", so To has no meaning
	Never    bool // there is no "^"
}

// ParseSubscription reads a subscription diagram. If it has a "!" but no "^", From is 0.
func ParseSubscription(text string) (s Subscription, err error) {
	c := newCursor(text)
	s.Open, s.Never = true, true
	begin := 0
	for c.next() {
		switch {
		case c.r == '^' && begin > 0:
			return s, c.errorf("a second '^', after that of position %d: write one diagram for each subscription", begin)
		case c.r == '^' && !s.Open:
			return s, c.errorf("'!' before '^'")
		case c.r == '^':
			s.From, s.Never, begin = c.instant, false, c.column
		case c.r == '!' && !s.Open:
			return s, c.errorf("a second '!'")
		case c.r == '!':
			s.To, s.Open = c.instant, false
		default:
			return s, c.errorf("%q has no meaning here: a subscription has - ^ ! ( ) and times such as 10ms", c.r)
		}
	}
	return s, c.err
}
