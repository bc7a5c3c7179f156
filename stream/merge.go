package stream

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Merge runs s and the others concurrently and yields their values as they come. It ends when all have ended. The first
// error cancels the others and ends it. Nothing is buffered: while the consumer processes a value, its source waits,
// and each of the others can hold one more value. There is no order between the sources, not even if each has a single
// value ready at once: use Concat for that.
//
//	source:        --a-----b-----c--|
//	other:         ----1-----2|
//	Merge(other):  --a-1---b-2---c--|
//
// Each source runs on its own goroutine, except a source without others.
func (s Stream[T]) Merge(others ...Stream[T]) Stream[T] {
	all := s.requireAll("Merge", others)
	if len(all) == 1 {
		return s
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		in := handoff.NewReceiver[T](scope)
		for _, s := range all {
			in.Start(s)
		}
		for running := len(all); running > 0 && !out.Stopped(); {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if ended, err := event.Ended(); err != nil {
				return err
			} else if ended {
				running--
			} else if out.Deliver(event.Value) {
				event.From.Request()
			}
		}
		return nil
	})
}
