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
		err := s(ctx, ending.Until(&stopped, yield))
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
			previous, had := before, some
			before, some = v, true
			return !had || yield(pair(previous, v))
		})
	}
}

// TryMap is operators.TryMap.
func TryMap[T, U any](p Package, s Stream[T], f func(context.Context, T) (U, error)) Stream[U] {
	require(p, "TryMap", s, "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		var failure error
		stopped := false
		err := s(ctx, func(v T) bool {
			if stopped {
				return false
			}
			u, err := f(ctx, v)
			failure = err
			stopped = err != nil || !yield(u)
			return !stopped
		})
		switch {
		case failure != nil:
			return ending.Error(ctx, failure)
		case stopped:
			return nil
		}
		return err
	}
}

// TryFilter is operators.TryFilter.
func TryFilter[T any](p Package, s Stream[T], keep func(context.Context, T) (bool, error)) Stream[T] {
	require(p, "TryFilter", s, "keep", keep == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		kept := false
		return TryMap(p, s, func(ctx context.Context, v T) (_ T, err error) {
			kept, err = keep(ctx, v)
			return v, err
		})(ctx, func(v T) bool { return !kept || yield(v) })
	}
}
