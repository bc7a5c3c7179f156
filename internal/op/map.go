package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Map is operators.Map.
func Map[T, U any](p Package, s Stream[T], f func(T) U) Stream[U] {
	p.NotNil("Map", "s", s == nil)
	p.NotNil("Map", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		return s(ctx, func(v T) bool { return yield(f(v)) })
	}
}

// MapErr is operators.MapErr.
func MapErr[T any](p Package, s Stream[T], f func(error) error) Stream[T] {
	p.NotNil("MapErr", "s", s == nil)
	p.NotNil("MapErr", "f", f == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		out := ending.NewConsumer(yield)
		err := s(ctx, out.Deliver)
		if err != nil && ctx.Err() == nil && !out.Stopped() {
			return f(err)
		}
		if err == nil {
			return nil
		}
		return out.End(ctx, err)
	}
}

// Pairwise is operators.Pairwise; pair makes the pairs.
func Pairwise[T, P any](p Package, s Stream[T], pair func(before, v T) P) Stream[P] {
	p.NotNil("Pairwise", "s", s == nil)
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
