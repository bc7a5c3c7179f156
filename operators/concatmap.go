package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ConcatMap runs the stream that f returns for each value of s, one after the other, and yields their values. While one
// of these inner streams runs, s waits.
//
//	s:               --1--------2--|
//	f(1):              --a--b|
//	f(2):                       --c|
//	ConcatMap(f):    ----a--b-----c|
//
// The first error, of s or of an inner stream, ends it.
func ConcatMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ConcatMap(here, s, f)
}
