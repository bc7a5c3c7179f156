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
		var last T
		found := false
		err := s(ctx, func(v T) bool {
			last, found = v, true
			return true
		})
		switch {
		case err != nil:
			return err
		case !found:
			return ending.Error(ctx, ending.ErrEmpty)
		}
		if !yield(last) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// Distinct is operators.DistinctBy under the name of operator.
func Distinct[T any, K comparable](p Package, operator string, s Stream[T], key func(T) K) Stream[T] {
	require(p, operator, s, "key", key == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		seen := make(map[K]struct{})
		return s(ctx, func(v T) bool {
			known := len(seen)
			seen[key(v)] = struct{}{}
			return len(seen) == known || yield(v)
		})
	}
}

// DistinctUntilChanged is operators.DistinctUntilChangedBy under the name of operator.
func DistinctUntilChanged[T any, K comparable](p Package, operator string, s Stream[T], key func(T) K) Stream[T] {
	require(p, operator, s, "key", key == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var before K
		some := false
		return s(ctx, func(v T) bool {
			k := key(v)
			same := some && k == before
			before, some = k, true
			return same || yield(v)
		})
	}
}
