package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Reduce returns the stream of the one result of a fold: Scan's last one, when s has ended. The result of an empty s
// is the seed; if s fails there is none.
//
//	s:                 --1--2--3--|
//	Reduce(0, a+v):    -----------6|
//
// Each run begins with the seed as it was given: if it is a map, a slice or a pointer, f must not change what it refers
// to.
func Reduce[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Reduce(here, s, seed, f)
}

// Count returns the stream of one number: how many values s had, when it has ended. If s fails there is none.
//
//	s:        --a--b--c--|
//	Count:    -----------3|
func Count[T any](s stream.Stream[T]) stream.Stream[int] {
	return op.Count(here, s)
}
