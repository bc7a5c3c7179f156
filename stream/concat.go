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
	do(func() { s.requireAll("Concat", others) })
	rest := slices.Clone(others) // not others, which the literal above captures: with and without inlining differently
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		deliver := ending.Until(&stopped, yield)
		err := s(ctx, deliver)
		for _, other := range rest {
			if stopped || err != nil {
				break
			}
			err = other(ctx, deliver)
		}
		if stopped {
			return nil
		}
		return err
	}
}
