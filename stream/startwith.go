package stream

import (
	"context"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
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
		deliver := ending.Until(&stopped, yield)
		err := start(ctx, deliver)
		if !stopped && err == nil {
			err = s(ctx, deliver)
		}
		if stopped {
			return nil
		}
		return err
	}
}
