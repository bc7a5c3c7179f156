package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrEmpty is the failure that First and Last make of a stream that ends without a value.
var ErrEmpty = op.ErrEmpty

// First returns the stream of the first value of s, which is stopped then. If s ends without one, it fails with
// ErrEmpty; the stream that is empty then is s.Take(1).
//
//	s:        --a--b--c--|
//	First:    --a|
//
//	s:        -----|
//	First:    -----#
func First[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.First(here, s)
}

// Last returns the stream of the last value of s, which comes when s has ended. If s ends without one, it fails with
// ErrEmpty; if s fails, so does Last, without a value.
//
//	s:       --a--b--c--|
//	Last:    -----------c|
func Last[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.Last(here, s)
}
