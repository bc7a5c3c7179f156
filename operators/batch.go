package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Batch collects the values of s in slices. It delivers a slice when its length is most, or when wait has passed since
// its first value came, whichever is sooner. The rest is delivered when s ends, and also when s fails, before the
// error. When ctx ends, the rest is dropped. No batch is empty.
//
//	s:              --a-b-c----d---------e-f-|
//	Batch(3, 5):    ------[abc]-----[d]------[ef]|
//
// With a wait of 0 there is no limit in time, and Batch starts no goroutine. Otherwise s runs on its own goroutine and
// fills the batch there. While the consumer processes a batch, s can run to its next value and waits there; with a wait
// of 0 it cannot run ahead. A value that comes exactly when the time is over may or may not be in the batch.
//
// Batch buffers up to most values; math.MaxInt is no limit. The position of a Resume before Batch moves when Batch
// takes a value, not when the consumer is done with the batch. The consumer may keep each slice. To end a flow without
// losing its last batch, use TakeUntil on s, not a cancel. A FlatMap after Batch that writes batches is cancelled by an
// error of s: ConcatMap and TryMap write the rest first, and so does FlatMap if it is used as its comment says.
func Batch[T any](s stream.Stream[T], most int, wait time.Duration) stream.Stream[[]T] {
	return op.Batch[T, []T](here, s, most, wait)
}
