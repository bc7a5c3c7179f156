package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ExhaustMap runs the stream that f returns for a value of s and yields its values; values of s that come while this
// inner stream runs are dropped. It is the opposite of SwitchMap: use it for a button that must not start the same job
// twice.
//
//	s:                 --1--2-----3-------|
//	f(1):                -a--b--c|
//	f(3):                         -g--h|
//	ExhaustMap(f):     ---a--b--c--g--h---|
//
// It ends when s and the last inner stream have ended. The first error, of s or of an inner stream, cancels the other
// and is returned. An error of s lets an inner stream begin before it cancels it: what that yields at once, and what it
// yields until it returns, comes before the error. FlatMap's comment shows how to let it end first.
//
// s runs on its own goroutine and waits only while f is called; the inner streams and f run on the caller's. An inner
// stream runs until the consumer is done with its last value. Values of s that come at the same time as the end of an
// inner stream may or may not be dropped.
func ExhaustMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ExhaustMap(here, s, f)
}
