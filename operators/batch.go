package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Batch returns the stream of the values of s in slices: one is delivered when it has as many values as most says, or
// when wait has passed since its first value came, whichever is sooner. What is left is delivered when s ends, and also
// when it fails, before the error, so that nothing is lost; when ctx ends it is dropped. No batch is empty.
//
//	s:              --a-b-c----d---------e-f-|
//	Batch(3, 5):    ------[abc]-----[d]------[ef]|
//
// A wait of 0 is no limit in time: then Batch starts no goroutine. Else s runs on a goroutine of its own and fills the
// batch there. While the consumer has a batch in hand s can go on to its next value and waits there: it is that far
// ahead, and with a wait of 0 not even that. Time is that of the clock that ctx carries, see stream.WithClock. A value
// that comes exactly when the time is over may be in the batch or not.
//
// Batch buffers up to most values; math.MaxInt is no limit. The position of a Resume before it moves when it takes a
// value, not when the consumer is done with the batch. Each slice is the consumer's own. To end a flow in order,
// its last batch included, use TakeUntil on s rather than a cancel.
func Batch[T any](s stream.Stream[T], most int, wait time.Duration) stream.Stream[[]T] {
	return op.Batch[T, []T](here, s, most, wait)
}
