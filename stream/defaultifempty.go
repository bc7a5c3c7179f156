package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// DefaultIfEmpty yields the values of s, or v if s ends without a value. A failure without a value stays a failure.
//
//	source:             -----|
//	DefaultIfEmpty(x):  -----x|
func (s Stream[T]) DefaultIfEmpty(v T) Stream[T] {
	s.require("DefaultIfEmpty")
	return func(ctx context.Context, yield func(T) bool) error {
		return s.SwitchIfEmpty(func(ctx context.Context, yield func(T) bool) error {
			if !yield(v) {
				return nil
			}
			return ending.ContextError(ctx)
		})(ctx, yield)
	}
}

// SwitchIfEmpty yields the values of s, or those of other if s ends without a value. A failure without a value stays a
// failure.
//
//	source:                -----|
//	other:                      --x--y--|
//	SwitchIfEmpty(other):  -------x--y--|
func (s Stream[T]) SwitchIfEmpty(other Stream[T]) Stream[T] {
	s.require("SwitchIfEmpty")
	requireFunc(other == nil, "SwitchIfEmpty: other")
	return func(ctx context.Context, yield func(T) bool) error {
		empty := true
		err := s(ctx, func(v T) bool {
			empty = false
			return yield(v)
		})
		if !empty || err != nil {
			return err
		}
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		return other(ctx, yield)
	}
}
