package stream

import (
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Merge returns the stream of the values of s and of the others, which run side by side, as they come. It ends when all
// have ended; the first error cancels the others and ends it. Nothing is buffered: while the consumer has a value in
// hand, the source it came from waits until it is processed, and the others can hold one more value each. There is no
// order between the sources, not even where each has one value at once: use Concat for that.
//
//	source:        --a-----b-----c--|
//	other:         ----1-----2|
//	Merge(other):  --a-1---b-2---c--|
//
// Each source runs on a goroutine of its own, except one that is alone.
func (s Stream[T]) Merge(others ...Stream[T]) Stream[T] {
	s.require("Merge")
	requireAll("Merge", others)
	if len(others) == 0 {
		return s
	}
	all := slices.Concat([]Stream[T]{s}, others)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		in := handoff.NewReceiver[T](scope)
		for _, s := range all {
			in.Start(s)
		}
		for open := len(all); open > 0 && !out.Stopped(); {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); err != nil {
				return err
			} else if over {
				open--
			} else if out.Deliver(event.Value) {
				event.From.Request()
			}
		}
		return nil
	})
}
