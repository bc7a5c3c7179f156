package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ExhaustMap returns the stream of the values of the streams that f returns for values of s, one at a time: while one
// of these inner streams runs, the values of s are dropped. It is SwitchMap the other way round, and what a button
// wants that must not start the same job twice.
//
//	s:                 --1--2-----3-------|
//	f(1):                -a--b--c|
//	f(3):                         -g--h|
//	ExhaustMap(f):     ---a--b--c--g--h---|
//
// It ends when s and the last inner stream have ended. The first error, of s or of an inner stream, cancels the other
// and is returned. f must not return nil: the stream fails then.
//
// s runs on a goroutine of its own and waits only while f is called; the inner streams and f run on the caller's. An
// inner stream runs until the consumer is done with its last value. Of values of s that come at the same time as the
// end of an inner stream, any may be dropped or not.
func ExhaustMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ExhaustMap(here, s, f)
}
