package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// FlatMap runs the streams that f returns for the values of s, at most concurrency of them at once, and yields their
// values as they come. While concurrency of these inner streams run, s waits.
//
//	s:                --1--2--3--|
//	f(1):               -a----b|
//	f(2):                  -c----d|
//	f(3):                      -e|           s has waited with 3 until f(1) ended
//	FlatMap(2, f):    ---a--c-b-ed|
//
// FlatMap keeps no order, not even between streams of a single value; ConcatMap does. With an f that returns
// stream.Of(v).Delay(d), it delays each value by d, as ReactiveX's delay does; the method Delay makes its source wait
// meanwhile.
//
// It ends when s and all inner streams have ended. The first error, of s or of an inner stream, cancels all others and
// is returned when they have returned. An error of s lets each inner stream begin before it cancels it, and a value that
// the inner stream yields at once, or has at hand, comes before the error. All else is lost: what an inner stream still
// waits for, such as the answer of a call, and what follows its first value after the error. MapRetry differs: it
// finishes what it has taken, because calls end and streams may not. The Example "hold the error" lets the inner streams
// end first: it catches the error before FlatMap and appends it to FlatMap's values.
//
// f is called on the caller's goroutine. Nothing is buffered: while the consumer processes a value, the inner stream it
// came from waits, and each other one can hold one more value. s and each inner stream run on goroutines of their own.
// With a concurrency of 1, FlatMap is ConcatMap and starts no goroutine. math.MaxInt is no limit, as in ReactiveX's
// plain flatMap.
func FlatMap[T, U any](s stream.Stream[T], concurrency int, f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.FlatMap(here, s, concurrency, f)
}
