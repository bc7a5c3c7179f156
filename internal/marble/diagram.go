package marble

import (
	"strings"
	"time"
	"unicode"
)

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

// Over reports whether the diagram has an end or an error.
func (d Diagram[T]) Over() bool { return over(d.Events) }

func over[T any](events []Event[T]) bool {
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
	c := &cursor{text: []rune(text)}
	var zero time.Duration
	zeroAt, endAt := 0, 0
	for {
		r, at, column, ok, err := c.next()
		if err != nil {
			return d, err
		}
		if !ok {
			break
		}
		if endAt > 0 && r != '^' {
			return d, c.errorf(column, "%q comes after the end at position %d", r, endAt)
		}
		e := Event[T]{At: at}
		switch {
		case r == '|':
			e.Kind, endAt = End, column
		case r == '#':
			e.Kind, endAt = Failure, column
			e.Err = failure
		case r == '^' && !hot:
			return d, c.errorf(column, "'^' is for the diagrams of hot sources and of subscriptions")
		case r == '^' && zeroAt > 0:
			return d, c.errorf(column, "a second '^', after that of position %d", zeroAt)
		case r == '^':
			zero, zeroAt = at, column
			continue
		case r == '!':
			return d, c.errorf(column, "'!' is for the diagrams of subscriptions")
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			e.letter = string(r)
			if e.Value, err = valueOf(e.letter, values); err != nil {
				return d, c.errorf(column, "%v", err)
			}
		default:
			return d, c.errorf(column, "%q has no meaning: %s", r, syntax)
		}
		d.Events = append(d.Events, e)
	}
	d.Spans = c.at - zero
	for i := range d.Events {
		d.Events[i].At -= zero
	}
	return d, nil
}

// Lines returns the diagrams of a text, one per line. Empty lines do not count.
func Lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	if all == nil {
		all = []string{""}
	}
	return all
}
