package stream

import "context"

// SkipWhile drops values until f returns false for one, then yields that value and all that follow. f is not called
// again.
//
//	source:              --1--2--3--1--|
//	SkipWhile(v < 3):    --------3--1--|
func (s Stream[T]) SkipWhile(f func(T) bool) Stream[T] {
	s.require("SkipWhile")
	requireFunc(f == nil, "SkipWhile: f")
	return func(ctx context.Context, yield func(T) bool) error {
		skipping := true
		return s(ctx, func(v T) bool {
			skipping = skipping && f(v)
			return skipping || yield(v)
		})
	}
}
