package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// Pairwise returns the stream of each value of s with the one before it. The first value has none before it, so there
// is one pair less than there are values.
//
//	s:           --1--2--3--4--|
//	Pairwise:    -----12-23-34-|
//
// It starts no goroutine. A nil s panics.
func Pairwise[T any](s stream.Stream[T]) stream.Stream[Pair[T, T]] {
	notNil("Pairwise", "s", s == nil)
	return func(ctx context.Context, yield func(Pair[T, T]) bool) error {
		var before T
		some := false
		return s(ctx, func(v T) bool {
			pair := Pair[T, T]{before, v}
			before = v
			if !some {
				some = true
				return true
			}
			return yield(pair)
		})
	}
}
