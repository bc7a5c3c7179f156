package stream

import (
	"context"
	"sync"
	"sync/atomic"
)

// attemptContext is the context of one attempt: it ends with its parent, and when the attempt is over. It becomes a
// real cancellable context only when somebody asks for its Done channel, which costs as much as the rest of a
// resubscription; many attempts never do.
type attemptContext struct {
	context.Context // the subscriber's

	over  atomic.Bool
	inner atomic.Pointer[cancellable]
	mu    sync.Mutex // guards the making of inner against finish
}

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// finish cancels the context.
func (a *attemptContext) finish() {
	a.mu.Lock()
	a.over.Store(true)
	inner := a.inner.Load()
	a.mu.Unlock()
	if inner != nil {
		inner.cancel()
	}
}

func (a *attemptContext) Done() <-chan struct{} {
	if inner := a.inner.Load(); inner != nil {
		return inner.Done()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	inner := a.inner.Load()
	if inner == nil {
		inner = new(cancellable)
		inner.Context, inner.cancel = context.WithCancel(a.Context)
		if a.over.Load() {
			inner.cancel()
		}
		a.inner.Store(inner)
	}
	return inner.Done()
}

func (a *attemptContext) Err() error {
	if inner := a.inner.Load(); inner != nil {
		return inner.Err()
	}
	if err := a.Context.Err(); err != nil || !a.over.Load() {
		return err
	}
	return context.Canceled
}

// Value lets package context find the real cancellable context, once there is one, so that contexts derived from this
// one attach to it without a goroutine.
func (a *attemptContext) Value(key any) any {
	if inner := a.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return a.Context.Value(key)
}

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
	for {
		a, ok := ctx.(*attemptContext)
		if !ok {
			break
		}
		if l.over == &always { // an attempt inside another is over first
			l.over = &a.over
		}
		ctx = a.Context
	}
	if ctx.Done() != nil {
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
