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

// Reduce is operators.Reduce.
func Reduce[T, A any](p Package, s Stream[T], seed A, f func(A, T) A) Stream[A] {
	require(p, "Reduce", s, "f", f == nil)
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

// Count is operators.Count.
func Count[T any](p Package, s Stream[T]) Stream[int] {
	require(p, "Count", s, "", false)
	return func(ctx context.Context, yield func(int) bool) error {
		n := 0
		err := s(ctx, func(T) bool {
			n++
			return true
		})
		if err != nil {
			return err
		}
		if !yield(n) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}
