package stream

import (
	"context"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Concat yields the values of s, then those of each other stream in turn. A stream is run when the one before has
// ended. The first error ends it.
//
//	source:         --a--b|
//	other:                 --c--|
//	Concat(other):  --a--b--c--|
func (s Stream[T]) Concat(others ...Stream[T]) Stream[T] {
	s.require("Concat")
	requireAll("Concat", others)
	others = slices.Clone(others)
	return func(ctx context.Context, yield func(T) bool) error {
		out := ending.NewConsumer(yield)
		deliver := out.Deliver
		err := s(ctx, deliver)
		for _, other := range others {
			if out.Stopped() || err != nil {
				break
			}
			err = other(ctx, deliver)
		}
		if out.Stopped() {
			return nil
		}
		return err
	}
}
