package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// First is operators.First.
func First[T any](p Package, s Stream[T]) Stream[T] {
	p.NotNil("First", "s", s == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		out := ending.NewConsumer(func(v T) bool {
			yield(v)
			return false
		})
		err := s(ctx, out.Deliver)
		if err == nil || out.Stopped() {
			return out.End(ctx, ending.ErrEmpty)
		}
		return err
	}
}

// Last is operators.Last.
func Last[T any](p Package, s Stream[T]) Stream[T] {
	p.NotNil("Last", "s", s == nil)
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
		return deliverLast(ctx, latest, yield)
	}
}
