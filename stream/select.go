package stream

import "context"

// Filter returns the stream of the values for which keep returns true.
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

// Take returns the stream of the first n values. It ends right after the n-th, without waiting for the next; Take(0)
// does not run the source at all. A negative n panics.
//
//	source:   --a--b--c--d--|
//	Take(2):  --a--b|
func (s Stream[T]) Take(n int) Stream[T] {
	s.require("Take")
	requireMin("Take: n", n, 0)
	if n == 0 {
		return Empty[T]()
	}
	return func(ctx context.Context, yield func(T) bool) error {
		left := n
		err := s(ctx, func(v T) bool {
			if left == 0 {
				return false
			}
			left--
			if !yield(v) {
				left = 0
			}
			return left > 0
		})
		if left == 0 {
			return nil
		}
		return err
	}
}

// Skip returns the stream without its first n values. A negative n panics.
//
//	source:   --a--b--c--d--|
//	Skip(2):  --------c--d--|
func (s Stream[T]) Skip(n int) Stream[T] {
	s.require("Skip")
	requireMin("Skip: n", n, 0)
	if n == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		left := n
		return s(ctx, func(v T) bool {
			if left > 0 {
				left--
				return true
			}
			return yield(v)
		})
	}
}

// TakeWhile returns the stream of the values before the first for which f returns false, where it ends; that value is
// not delivered.
//
//	source:              --1--2--3--1--|
//	TakeWhile(v < 3):    --1--2--|
func (s Stream[T]) TakeWhile(f func(T) bool) Stream[T] {
	s.require("TakeWhile")
	requireFunc(f == nil, "TakeWhile: f")
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !f(v) || !yield(v)
			return !stopped
		})
		if stopped {
			return nil
		}
		return err
	}
}

// SkipWhile returns the stream from the first value on for which f returns false; f is not asked again.
//
//	source:              --1--2--3--1--|
//	SkipWhile(v < 3):    --------3--1--|
func (s Stream[T]) SkipWhile(f func(T) bool) Stream[T] {
	s.require("SkipWhile")
	requireFunc(f == nil, "SkipWhile: f")
	return func(ctx context.Context, yield func(T) bool) error {
		skipping := true
		return s(ctx, func(v T) bool {
			if skipping = skipping && f(v); skipping {
				return true
			}
			return yield(v)
		})
	}
}
