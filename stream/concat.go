package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Concat yields the values of s, then those of each other stream in turn. A stream is run when the one before has
// ended. The first error ends it.
//
//	source:         --a--b|
//	other:                 --c--|
//	Concat(other):  --a--b--c--|
func (s Stream[T]) Concat(others ...Stream[T]) Stream[T] {
	all := s.requireAll("Concat", others)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		deliver := ending.Until(&stopped, yield)
		for _, s := range all {
			err := s(ctx, deliver)
			if stopped {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
