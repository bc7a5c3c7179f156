package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Scan yields the running results of a fold: f(seed, first), then f of that result and the second value, and so on.
// There is one result for each value, as in RxJS; the seed itself is not delivered. RxJava's scan with a seed delivers
// it first.
//
//	s:               --1--2--3--|
//	Scan(0, a+v):    --1--3--6--|
//
// Each run begins with the given seed: if it is a map, a slice or a pointer, f must not change what it refers to.
func Scan[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Scan(here, s, seed, f)
}
