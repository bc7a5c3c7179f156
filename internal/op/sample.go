package op

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Sample is operators.Sample.
func Sample[T, U any](p Package, s Stream[T], sampler Stream[U]) Stream[T] {
	require(p, "Sample", s, "sampler", sampler == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		var seen latest[T]
		values := notifier[T]{source: s, receive: seen.put, endsBoth: true}
		return withNotifier(scope, values, func(run *interruption) error {
			return sampler(run.ctx, func(U) bool {
				if run.interrupted() {
					return false
				}
				v, some := seen.take()
				return !some || out.Deliver(v)
			})
		})
	})
}
