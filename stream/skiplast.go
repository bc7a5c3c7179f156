package stream

import "context"

// SkipLast returns the stream without its last n values: each value is delivered when n more have come. It holds n
// values. SkipLast(0) is the stream itself; a negative n panics.
//
//	source:       --a--b--c--d--|
//	SkipLast(2):  --------a--b--|
func (s Stream[T]) SkipLast(n int) Stream[T] {
	s.require("SkipLast")
	requireMin("SkipLast: n", n, 0)
	if n == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		last := ring[T]{size: n}
		return s(ctx, func(v T) bool {
			oldest, full := last.put(v)
			return !full || yield(oldest)
		})
	}
}
