package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// ConcatMap is operators.ConcatMap.
func ConcatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], f func(T) S) Stream[U] {
	require(p, "ConcatMap", s, "f", f == nil)
	return concatMap(p, "ConcatMap", s, f)
}

func concatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, operator string, s Stream[T], f func(T) S) Stream[U] {
	return func(ctx context.Context, yield func(U) bool) error {
		out := ending.NewConsumer(yield)
		deliver := out.Deliver
		var failure error
		err := s(ctx, func(v T) bool {
			if out.Stopped() || failure != nil {
				return false
			}
			if inner := f(v); inner != nil {
				failure = inner(ctx, deliver)
			} else {
				failure = p.nilStream(operator)
			}
			return !out.Stopped() && failure == nil
		})
		switch {
		case out.Stopped():
			return nil
		case failure != nil:
			return failure
		}
		return err
	}
}
