package op

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// ErrEmpty is operators.ErrEmpty.
var ErrEmpty = errors.New("operators: the stream ended without a value")

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
			return out.End(ctx, ErrEmpty)
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
			return ending.Error(ctx, ErrEmpty)
		}
		return deliverLast(ctx, latest, yield)
	}
}
