package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

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
		var failure error
		stopped := false
		err := s(ctx, func(v T) bool {
			if stopped {
				return false
			}
			kept, err := keep(ctx, v)
			failure = err
			stopped = err != nil || kept && !yield(v)
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
