// Package marble reads and draws marble diagrams, in the syntax of RxJS' TestScheduler; the comment of package
// streamtest describes it.
package marble

import (
	"fmt"
	"time"
)

// Kind is what an event of a stream is.
type Kind uint8

const (
	Value   Kind = iota
	End          // |
	Failure      // #
)

// Event is something that a stream does.
type Event[T any] struct {
	At    time.Duration
	Kind  Kind
	Value T
	Err   error // of a Failure

	letter string // of a Value, in a diagram that was read
}

// String says what the event is, without its time.
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

// Show writes a value so that strings can be told from numbers.
func Show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%+v", v)
}
