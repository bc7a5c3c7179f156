package stream

import "context"

// Tap calls f with each value before the consumer receives it, on the same goroutine.
//
//	source:   --a--b--|
//	          f(a) f(b)
//	Tap(f):   --a--b--|
func (s Stream[T]) Tap(f func(T)) Stream[T] {
	s.require("Tap")
	requireFunc(f == nil, "Tap: f")
	return func(ctx context.Context, yield func(T) bool) error {
		return s(ctx, func(v T) bool {
			f(v)
			return yield(v)
		})
	}
}
