package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrEmpty is the error of First and Last for a stream that ends without a value. It is stream.ErrEmpty.
var ErrEmpty = stream.ErrEmpty

// First yields the first value of s and stops s. If s ends without a value, it fails with ErrEmpty; use s.Take(1) for a
// stream that is empty then.
//
//	s:        --a--b--c--|
//	First:    --a|
//
//	s:        -----|
//	First:    -----#
func First[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.First(here, s)
}

// Last yields the last value of s when s has ended. If s ends without a value, it fails with ErrEmpty. If s fails, it
// fails with that error, without a value.
//
//	s:       --a--b--c--|
//	Last:    -----------c|
func Last[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.Last(here, s)
}
