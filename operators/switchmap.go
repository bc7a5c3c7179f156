package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// SwitchMap runs the stream that f returns for each value of s, until the next value of s comes, and yields its values.
// A new value of s cancels the inner stream that still runs. The next inner stream starts when that one has returned;
// no value of the cancelled stream comes after the new value of s, and its error does not count.
//
//	s:               --1-------2-----3---|
//	f(1):              -a-b-c-d-e|
//	f(2):                      -f-----g|
//	f(3):                            -h|
//	SwitchMap(f):    ---a-b-c-d-f-----h--|
//
// It ends when s and the last inner stream have ended. The first error, of s or of the latest inner stream, cancels the
// other and is returned. An error of s does not cancel the inner stream of its last value before that has begun: what
// it yields at once, and what it yields until it returns, comes before the error. FlatMap's comment shows how to let it
// end first.
//
// s runs on its own goroutine, the inner streams and f on the caller's. While the consumer processes a value, s can run
// to its next value and waits there.
func SwitchMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.SwitchMap(here, s, f)
}
