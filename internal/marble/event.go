// Package marble reads and draws marble diagrams, in the syntax of RxJS' TestScheduler. The comment of package
// streamtest describes the syntax.
package marble

import (
	"fmt"
	"time"
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

	letter string // for a Value, in a diagram that was read
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
