package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/op"
)

// TakeLast yields the last n values, or all if there are fewer, when s has ended. A failure is returned without them.
// It holds n values. TakeLast(0) does not run the source.
//
//	source:       --a--b--c--|
//	TakeLast(2):  -----------(bc|)
func (s Stream[T]) TakeLast(n int) Stream[T] {
	s.require("TakeLast")
	requireMin("TakeLast: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		if n == 0 {
			return ending.ContextError(ctx)
		}
		last := op.NewRing[T](n)
		err := s(ctx, func(v T) bool {
			last.Put(v)
			return true
		})
		if err != nil {
			return err
		}
		return FromSlice(last.Values())(ctx, yield)
	}
}
