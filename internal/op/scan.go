package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Scan is operators.Scan.
func Scan[T, A any](p Package, s Stream[T], seed A, f func(A, T) A) Stream[A] {
	p.NotNil("Scan", "s", s == nil)
	p.NotNil("Scan", "f", f == nil)
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
	p.NotNil("Reduce", "s", s == nil)
	p.NotNil("Reduce", "f", f == nil)
	return fold(s, seed, f)
}

// Count is operators.Count.
func Count[T any](p Package, s Stream[T]) Stream[int] {
	p.NotNil("Count", "s", s == nil)
	return fold(s, 0, func(n int, _ T) int { return n + 1 })
}

func fold[T, A any](s Stream[T], seed A, f func(A, T) A) Stream[A] {
	return func(ctx context.Context, yield func(A) bool) error {
		result := seed
		err := s(ctx, func(v T) bool {
			result = f(result, v)
			return true
		})
		if err != nil {
			return err
		}
		return deliverLast(ctx, result, yield)
	}
}

// deliverLast delivers v, the last value, and returns the result of the stream.
func deliverLast[T any](ctx context.Context, v T, yield func(T) bool) error {
	if !yield(v) {
		return nil
	}
	return ending.ContextError(ctx)
}
