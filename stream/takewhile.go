package stream

import "context"

// TakeWhile yields values until f returns false for one, and ends there; that value is not delivered.
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
