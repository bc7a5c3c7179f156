package stream

import "context"

// Skip drops the first n values and yields the rest.
//
//	source:   --a--b--c--d--|
//	Skip(2):  --------c--d--|
func (s Stream[T]) Skip(n int) Stream[T] {
	s.require("Skip")
	requireMin("Skip: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		remaining := n
		return s(ctx, func(v T) bool {
			if remaining > 0 {
				remaining--
				return true
			}
			return yield(v)
		})
	}
}
