package op

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// joint is a subscription in which one consumer of a shared stream may be held until another one has received a value.
// The other one may join late, when the held consumer has the first value already. It must receive this value too, or
// both would wait forever.
type joint struct {
	holding atomic.Int32 // number of operators that may hold a consumer
}

type jointKey struct{}

// withJointScope is handoff.Stream for a joint subscription. run must call release when it holds no consumer any more.
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
