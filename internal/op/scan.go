package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Scan is operators.Scan.
func Scan[T, A any](p Package, s Stream[T], seed A, f func(A, T) A) Stream[A] {
	require(p, "Scan", s, "f", f == nil)
	return func(ctx context.Context, yield func(A) bool) error {
		result := seed
		return s(ctx, func(v T) bool {
			result = f(result, v)
			return yield(result)
		})
	}
}

// Reduce is operators.Reduce under the name of operator.
func Reduce[T, A any](p Package, operator string, s Stream[T], seed A, f func(A, T) A) Stream[A] {
	require(p, operator, s, "f", f == nil)
	return func(ctx context.Context, yield func(A) bool) error {
		result := seed
		err := s(ctx, func(v T) bool {
			result = f(result, v)
			return true
		})
		if err != nil {
			return err
		}
		if !yield(result) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}
