package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Reduce yields the last result of Scan when s has ended, or the seed if s is empty. If s fails, there is no result.
//
//	s:                 --1--2--3--|
//	Reduce(0, a+v):    -----------6|
//
// Each run begins with the given seed: if it is a map, a slice or a pointer, f must not change what it refers to.
func Reduce[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Reduce(here, "Reduce", s, seed, f)
}

// Count yields the number of values of s when s has ended. If s fails, there is no result.
//
//	s:        --a--b--c--|
//	Count:    -----------3|
func Count[T any](s stream.Stream[T]) stream.Stream[int] {
	return op.Reduce(here, "Count", s, 0, func(n int, _ T) int { return n + 1 })
}
