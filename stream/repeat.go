package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Repeat runs s n times in all, one run after the other. An error ends it. Repeat(0) is empty.
//
//	source:     --a--b|
//	Repeat(3):  --a--b--a--b--a--b|
func (s Stream[T]) Repeat(n int) Stream[T] {
	s.require("Repeat")
	requireMin("Repeat: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		deliver := ending.Until(&stopped, yield)
		for range n {
			if err := ending.ContextError(ctx); err != nil {
				return err
			}
			err := s(ctx, deliver)
			if stopped {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return ending.ContextError(ctx)
	}
}
