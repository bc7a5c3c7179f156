package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// TryMap is operators.TryMap.
func TryMap[T, U any](p Package, s Stream[T], f func(context.Context, T) (U, error)) Stream[U] {
	p.NotNil("TryMap", "s", s == nil)
	p.NotNil("TryMap", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		return tryEach(ctx, s, func(v T) (bool, error) {
			u, err := f(ctx, v)
			if err != nil {
				return false, err
			}
			return yield(u), nil
		})
	}
}

// TryFilter is operators.TryFilter.
func TryFilter[T any](p Package, s Stream[T], keep func(context.Context, T) (bool, error)) Stream[T] {
	p.NotNil("TryFilter", "s", s == nil)
	p.NotNil("TryFilter", "keep", keep == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		return tryEach(ctx, s, func(v T) (bool, error) {
			kept, err := keep(ctx, v)
			if err != nil || !kept {
				return err == nil, err
			}
			return yield(v), nil
		})
	}
}

// tryEach runs s with a yield that may fail. A failure ends the run.
func tryEach[T any](ctx context.Context, s Stream[T], yield func(T) (bool, error)) error {
	var failure error
	out := ending.NewConsumer(func(v T) (more bool) {
		more, failure = yield(v)
		return more
	})
	err := s(ctx, out.Deliver)
	switch {
	case failure != nil:
		return ending.Error(ctx, failure)
	case out.Stopped():
		return nil
	}
	return err
}
