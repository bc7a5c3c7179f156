package stream

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/op"
)

// Catch yields the values of s and, when s fails, continues with the stream that f returns for the error. It catches
// only failures of s, permanent ones too: not a failure of the stream that f returned, and not the end of ctx. If f
// returns nil, the stream fails with an error that wraps the failure.
//
//	source:             --a--b--#
//	f(err):                     --c--|
//	Catch(f):           --a--b----c--|
func (s Stream[T]) Catch(f func(error) Stream[T]) Stream[T] {
	s.require("Catch")
	requireFunc(f == nil, "Catch: f")
	return func(ctx context.Context, yield func(T) bool) error {
		return op.MapErr("stream", s, func(err error) error {
			next := f(err)
			if next == nil {
				return fmt.Errorf("stream: Catch: f returned a nil stream for: %w", err)
			}
			return next(ctx, yield)
		})(ctx, yield)
	}
}
