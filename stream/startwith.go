package stream

import (
	"context"
	"slices"
)

// StartWith yields the given values, then runs s and yields its values.
//
//	source:           --a--b--|
//	StartWith(x, y):  xy--a--b--|
func (s Stream[T]) StartWith(v ...T) Stream[T] {
	s.require("StartWith")
	start := FromSlice(slices.Clone(v))
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		err := start(ctx, func(v T) bool {
			stopped = !yield(v)
			return !stopped
		})
		if stopped || err != nil {
			return err
		}
		err = s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		if stopped {
			return nil
		}
		return err
	}
}
