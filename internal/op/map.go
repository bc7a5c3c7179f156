package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Map is operators.Map.
func Map[T, U any](p Package, s Stream[T], f func(T) U) Stream[U] {
	require(p, "Map", s, "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		return s(ctx, func(v T) bool { return yield(f(v)) })
	}
}

// MapErr is operators.MapErr.
func MapErr[T any](p Package, s Stream[T], f func(error) error) Stream[T] {
	require(p, "MapErr", s, "f", f == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		switch {
		case stopped || err == nil:
			return nil
		case ctx.Err() != nil:
			return ending.Error(ctx, err)
		}
		return f(err)
	}
}

// Pairwise is operators.Pairwise; pair makes the pairs.
func Pairwise[T, P any](p Package, s Stream[T], pair func(before, v T) P) Stream[P] {
	require(p, "Pairwise", s, "", false)
	return func(ctx context.Context, yield func(P) bool) error {
		var before T
		some := false
		return s(ctx, func(v T) bool {
			last := before
			before = v
			if !some {
				some = true
				return true
			}
			return yield(pair(last, v))
		})
	}
}
