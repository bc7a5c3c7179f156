package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Race returns the stream that is the first of several to speak: with a value, its end, or an error. The others are
// cancelled then; they have returned before its first value is delivered. (ReactiveX: amb.)
//
//	a:          -----1--2--|
//	b:          --x----y--z--|
//	c:          -------#
//	Race:       --x----y--z--|
//
// An error wins the race too: to race for the first success, give each stream its own RetryWhen or Catch. When several
// speak at the same moment, any of them may win. A Race of none is empty, a Race of one is that stream; else each runs
// on a goroutine of its own.
func Race[T any](s ...stream.Stream[T]) stream.Stream[T] {
	return op.Race(here, s...)
}
