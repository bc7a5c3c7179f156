package stream

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Debounce yields a value when no other has followed it for d. A value that waits when the source ends or fails is
// delivered before the end or the error, so none is lost; RxJS and RxJava drop it at an error. When ctx ends, it is
// dropped. Debounce(0) is the stream itself.
//
//	source:       -a-b-c--------d---e|
//	Debounce(3):  --------c--------d-(e|)
//
// A value that comes exactly d after the one before may or may not replace it. While the consumer processes a value,
// the source can run to its next value and waits there. The source runs on its own goroutine.
func (s Stream[T]) Debounce(d time.Duration) Stream[T] {
	s.require("Debounce")
	requireWait("Debounce: d", d)
	if d == 0 {
		return s
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		return deliverLatest(scope, out, s, d, false)
	})
}
