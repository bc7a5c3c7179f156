package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/attempt"
)

// attemptContext is the context of one attempt: it ends with its parent, and when the attempt is over. It becomes a
// real cancellable context only when somebody asks for its Done channel, or looks at it after the attempt; that costs
// as much as the rest of a resubscription, and many attempts never do.
type attemptContext struct {
	context.Context // the subscriber's

	over  atomic.Bool
	n     uint32 // the number of the attempt
	inner atomic.Pointer[cancellable]
	mu    sync.Mutex // guards what follows, and the making of inner against finish
	cut   bool       // the parent ended before the attempt was over
}

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// finish cancels the context.
func (a *attemptContext) finish() {
	a.mu.Lock()
	a.over.Store(true)
	a.cut = a.Context.Err() != nil // after over is set: whoever saw the parent's end before that is right
	inner := a.inner.Load()
	a.mu.Unlock()
	if inner != nil {
		inner.cancel()
	}
}

// real returns the real context, made on the first call.
func (a *attemptContext) real() *cancellable {
	if inner := a.inner.Load(); inner != nil {
		return inner
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	inner := a.inner.Load()
	if inner == nil {
		parent, over := a.Context, a.over.Load()
		if over && !a.cut {
			parent = context.WithoutCancel(parent) // its end comes too late
		}
		inner = new(cancellable)
		inner.Context, inner.cancel = context.WithCancel(parent)
		if over {
			inner.cancel()
		}
		a.inner.Store(inner)
	}
	return inner
}

func (a *attemptContext) Done() <-chan struct{} { return a.real().Done() }

func (a *attemptContext) Err() error {
	if a.inner.Load() == nil {
		if err := a.Context.Err(); !a.over.Load() {
			return err
		}
	}
	return a.real().Err()
}

// Value lets package context find the real cancellable context, once there is one, so that contexts derived from this
// one attach to it without a goroutine.
func (a *attemptContext) Value(key any) any {
	if a.n > 1 && key == (attempt.Key{}) {
		return a
	}
	if inner := a.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return a.Context.Value(key)
}

// AttemptFrom returns the number of the attempt that runs under ctx, of the innermost RetryWhen, retry.Do, retry.Run,
// operators.MapRetry or retryhttp. A first attempt counts as part of what is around it: inside the third attempt of an
// outer RetryWhen, the first of an inner one is 3, and its second 2. Outside of any it is 1.
func AttemptFrom(ctx context.Context) int {
	switch a := ctx.Value(attempt.Key{}).(type) {
	case *attemptContext:
		return int(a.n)
	case *attempt.Context:
		return a.Number()
	}
	return 1
}

// String names the context as those of package context do. A context that is printed by its fields is a data race.
func (a *attemptContext) String() string { return fmt.Sprint(a.Context, ".Attempt") }

// lookout is a cheap look at a context before each value. While an attempt runs its context ends only as the
// subscriber's does, which often never ends, so there is no need to make a real context of it.
type lookout struct {
	over   *atomic.Bool    // of the attempt, or always
	parent context.Context // nil: it never ends
}

// always is not over.
var always atomic.Bool

func watch(ctx context.Context) lookout {
	l := lookout{over: &always}
	if a, ok := ctx.(*attemptContext); ok {
		l.over, ctx = &a.over, a.Context
	}
	if _, nested := ctx.(*attemptContext); nested || ctx.Done() != nil {
		l.parent = ctx
	}
	return l
}

// never reports whether the context cannot end.
func (l *lookout) never() bool { return l.over == &always && l.parent == nil }

// ended reports whether the context has ended.
func (l *lookout) ended() bool {
	return l.over.Load() || l.parent != nil && l.parent.Err() != nil
}
