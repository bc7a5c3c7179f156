package op

import (
	"context"
	"sync"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// WithLatestFrom is operators.WithLatestFrom.
func WithLatestFrom[A, B, C any](p Package, s Stream[A], other Stream[B], f func(A, B) C) Stream[C] {
	require(p, "WithLatestFrom", s, "other", other == nil)
	p.NotNil("WithLatestFrom", "f", f == nil)
	return withJointScope(func(scope *handoff.Scope, release func(), out *ending.Consumer[C]) error {
		var seen latest[B]
		known := make(chan struct{}) // closed when other has yielded a value or has ended without an error
		know := sync.OnceFunc(func() { close(known); release() })
		notify := func(ctx context.Context, yield func(B) bool) error {
			err := other(ctx, func(b B) bool {
				more := yield(b)
				know()
				return more
			})
			if err == nil {
				know()
			}
			return err
		}
		return withNotifier(scope, notifier[B]{source: notify, receive: seen.put}, func(run *interruption) error {
			first := true
			return s(run.ctx, func(a A) bool {
				if run.interrupted() {
					return false
				}
				if first {
					first = false
					if !awaited(run.ctx, known) || scope.Err() != nil { // a is not lost if other fails right after its first value
						return false
					}
				}
				b, some := seen.get()
				return !some || out.Deliver(f(a, b))
			})
		})
	})
}

// awaited waits until c is closed or ctx ends, and reports whether c is closed.
func awaited(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
	case <-ctx.Done():
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}
