package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// SwitchMap returns the stream of the values of the streams that f returns for the values of s, of the latest one only:
// a new value of s cancels the inner stream that still runs. It has returned before the next one starts, none of its
// values comes after the new value, and an error that it returns then does not count.
//
//	s:               --1-------2-----3---|
//	f(1):              -a-b-c-d-e|
//	f(2):                      -f-----g|
//	f(3):                            -h|
//	SwitchMap(f):    ---a-b-c-d-f-----h--|
//
// It ends when s and the last inner stream have ended. The first error, of s or of the latest inner stream, cancels the
// other and is returned. f must not return nil: the stream fails then.
//
// s runs on a goroutine of its own, the inner streams and f on the caller's. While the consumer has a value in hand, s
// can go on to its next value and waits there.
func SwitchMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.SwitchMap(here, s, f)
}
