package op

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// joint is a subscription that may hold one of its consumers of a shared stream until another one has had a value. That
// one may be late: it joins when the first value is already in the hands of the other, who keeps it. It gets this value
// too, or both would wait forever.
type joint struct {
	holding atomic.Int32 // how many operators may hold a consumer
}

type jointKey struct{}

// withJointScope is handoff.Stream for a joint subscription. run calls release when nothing is held any more.
func withJointScope[T any](run func(scope *handoff.Scope, release func(), out *ending.Consumer[T]) error) Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		j, _ := ctx.Value(jointKey{}).(*joint)
		if j == nil {
			j = new(joint)
			ctx = context.WithValue(ctx, jointKey{}, j)
		}
		j.holding.Add(1)
		release := sync.OnceFunc(func() { j.holding.Add(-1) })
		defer release()
		return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
			return run(scope, release, out)
		})(ctx, yield)
	}
}
