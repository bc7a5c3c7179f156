package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// FlatMap returns the stream of the values of the streams that f returns for the values of s, which run side by side:
// at most concurrency of them at once, while s waits. Their values come as they are made, interleaved.
//
//	s:                --1--2--3--|
//	f(1):               -a----b|
//	f(2):                  -c----d|
//	f(3):                      -e|           s has waited with 3 until f(1) ended
//	FlatMap(2, f):    ---a--c-b-ed|
//
// It keeps no order, not even between streams of a single value; ConcatMap does. FlatMap(s, n, f) with an f that
// returns stream.Of(v).Delay(d) delays each value by d, as ReactiveX's delay does; the method Delay holds its source
// meanwhile.
//
// It ends when s and all inner streams have ended. The first error, of s or of an inner stream, cancels all others; it
// is returned when they have returned. f must not return nil: the stream fails then.
//
// f is called on the caller's goroutine. Nothing is buffered: while the consumer has a value in hand, the inner stream
// it came from waits until it is processed, and each other one can hold one more value. s and each inner stream run on
// goroutines of their own; with a concurrency of 1 FlatMap is ConcatMap and starts none. math.MaxInt is no limit, as
// in ReactiveX's plain flatMap.
func FlatMap[T, U any](s stream.Stream[T], concurrency int, f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.FlatMap(here, s, concurrency, f)
}
