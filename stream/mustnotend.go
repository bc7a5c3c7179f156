package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// MustNotEnd yields the values of s, and fails with err when s ends. So the end of a feed is a failure and can be
// retried. A consumer that stops is not an end.
//
//	source:           --a--b--|
//	MustNotEnd(err):  --a--b--#
func (s Stream[T]) MustNotEnd(err error) Stream[T] {
	s.require("MustNotEnd")
	requireFunc(err == nil, "MustNotEnd: err")
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		failed := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		switch {
		case stopped:
			return nil
		case failed != nil:
			return failed
		case ctx.Err() != nil:
			return ending.ContextError(ctx)
		}
		return err
	}
}
