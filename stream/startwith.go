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
	v = slices.Clone(v)
	return func(ctx context.Context, yield func(T) bool) error {
		look := newLookout(ctx)
		for _, item := range v {
			if look.ended() {
				return ending.ContextError(ctx)
			}
			if !yield(item) {
				return nil
			}
		}
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		if stopped {
			return nil
		}
		return err
	}
}
