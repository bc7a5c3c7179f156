package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ConcatMap returns the stream of the values of the streams that f returns for the values of s, one stream after the
// other, in order. While one of these inner streams runs, s waits.
//
//	s:               --1--------2--|
//	f(1):              --a--b|
//	f(2):                       --c|
//	ConcatMap(f):    ----a--b-----c|
//
// The first error, of s or of an inner stream, ends it. f must not return nil: the stream fails then. ConcatMap starts
// no goroutine.
func ConcatMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ConcatMap(here, s, f)
}
