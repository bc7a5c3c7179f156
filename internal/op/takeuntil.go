package op

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// TakeUntil is operators.TakeUntil.
func TakeUntil[T, U any](p Package, s Stream[T], stop Stream[U]) Stream[T] {
	require(p, "TakeUntil", s, "stop", stop == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		end := notifier[U]{source: stop, receive: func(U) bool { return false }}
		return withNotifier(scope, end, func(run *interruption) error {
			return s(run.ctx, func(v T) bool { return !run.interrupted() && out.Deliver(v) })
		})
	})
}
