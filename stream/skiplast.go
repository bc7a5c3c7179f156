package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/op"
)

// SkipLast drops the last n values: it delivers each value when n more have come. It holds n values. SkipLast(0)
// drops nothing.
//
//	source:       --a--b--c--d--|
//	SkipLast(2):  --------a--b--|
func (s Stream[T]) SkipLast(n int) Stream[T] {
	s.require("SkipLast")
	requireMin("SkipLast: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		last := op.NewRing[T](n)
		return s(ctx, func(v T) bool {
			oldest, full := last.Put(v)
			return !full || yield(oldest)
		})
	}
}
