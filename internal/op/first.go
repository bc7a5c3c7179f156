package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// First is operators.First.
func First[T any](p Package, s Stream[T]) Stream[T] {
	require(p, "First", s, "", false)
	return func(ctx context.Context, yield func(T) bool) error {
		found := false
		err := s(ctx, func(v T) bool {
			if !found {
				yield(v)
				found = true
			}
			return false
		})
		switch {
		case found:
			return nil
		case err != nil:
			return err
		}
		return ending.Error(ctx, ending.ErrEmpty)
	}
}

// Last is operators.Last.
func Last[T any](p Package, s Stream[T]) Stream[T] {
	require(p, "Last", s, "", false)
	return func(ctx context.Context, yield func(T) bool) error {
		var latest T
		found := false
		err := s(ctx, func(v T) bool {
			latest, found = v, true
			return true
		})
		switch {
		case err != nil:
			return err
		case !found:
			return ending.Error(ctx, ending.ErrEmpty)
		}
		if !yield(latest) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}
