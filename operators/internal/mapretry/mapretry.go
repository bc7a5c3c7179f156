// Package mapretry runs operators.MapRetry. scheduler makes the decisions. run contains everything else: the lock, the
// goroutines, the timer and all calls of other code.
package mapretry

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Options are operators.MapRetryOptions with Workers and MaxPending at least 1.
type Options[T any] struct {
	Workers    int
	MaxPending int
	Ordered    bool
	Context    func(ctx context.Context, item T) context.Context
	DeadLetter func(context.Context, T, *retry.Error) error
	OnAbandon  func(T, int)
}

// Run runs the stream of operators.MapRetry on the caller's goroutine. When it returns, all other goroutines have
// ended.
func Run[T, U any](
	ctx context.Context, src stream.Stream[T], p retry.Policy, f func(context.Context, T) (U, error), o Options[T], yield func(U) bool,
) error {
	if err := ending.ContextError(ctx); err != nil {
		return err
	}
	r := newRun(ctx, src, p, f, o)
	err := r.consume(ctx, yield)
	if r.crash != nil {
		r.crash.Raise()
	}
	return err
}
