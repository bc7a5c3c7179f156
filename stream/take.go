package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Take yields the first n values. It ends right after the n-th, without waiting for the next. Take(0) does not run the
// source.
//
//	source:   --a--b--c--d--|
//	Take(2):  --a--b|
func (s Stream[T]) Take(n int) Stream[T] {
	s.require("Take")
	requireMin("Take: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		if n == 0 {
			return ending.ContextError(ctx)
		}
		remaining := n
		err := s(ctx, func(v T) bool {
			if remaining == 0 {
				return false
			}
			remaining--
			if !yield(v) {
				remaining = 0
			}
			return remaining > 0
		})
		if remaining == 0 {
			return nil
		}
		return err
	}
}
