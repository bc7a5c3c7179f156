package stream

import "context"

// Filter yields the values for which keep returns true.
//
//	source:              --1--2--3--4--|
//	Filter(even(v)):     -----2-----4--|
func (s Stream[T]) Filter(keep func(T) bool) Stream[T] {
	s.require("Filter")
	requireFunc(keep == nil, "Filter: keep")
	return func(ctx context.Context, yield func(T) bool) error {
		return s(ctx, func(v T) bool { return !keep(v) || yield(v) })
	}
}
