package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Race yields the values of the first stream that yields a value, ends, or fails. The others are cancelled then, and
// have returned before its first value is delivered. (ReactiveX: amb.)
//
//	a:          -----1--2--|
//	b:          --x----y--z--|
//	c:          -------#
//	Race:       --x----y--z--|
//
// An error wins the race too. To race for the first success, give each stream its own RetryWhen or Catch. If several
// streams are first at the same moment, any of them may win. A Race without streams is empty, and a Race of one stream
// is that stream; otherwise each stream runs on its own goroutine.
func Race[T any](s ...stream.Stream[T]) stream.Stream[T] {
	return op.Race(here, s...)
}
