package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Scan returns the stream of the running results of a fold: f's answer to the result so far, at first the seed, and
// each value. The seed itself is not delivered, so there is one result for each value, as in RxJS; RxJava's scan with
// a seed delivers it first.
//
//	s:               --1--2--3--|
//	Scan(0, a+v):    --1--3--6--|
//
// Each run begins with the seed as it was given: if it is a map, a slice or a pointer, f must not change what it refers
// to.
func Scan[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Scan(here, s, seed, f)
}
