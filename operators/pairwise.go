package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Pairwise yields each value of s together with the one before it. The first value has none before it, so there is one
// pair less than there are values.
//
//	s:           --1--2--3--4--|
//	Pairwise:    -----12-23-34-|
func Pairwise[T any](s stream.Stream[T]) stream.Stream[Pair[T, T]] {
	return op.Pairwise(here, s, func(before, v T) Pair[T, T] { return Pair[T, T]{before, v} })
}
