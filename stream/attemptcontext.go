package stream

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// attemptContext is the context of one attempt. It ends with its parent, or when the attempt is over. It becomes a real
// cancellable context only when its Done channel is needed, or when it is used after the attempt: a cancellable context
// costs as much as the rest of a resubscription, and many attempts never need it.
type attemptContext struct {
	subscription *attempt.Subscription

	over  uint32 // 0 while the attempt runs, else byItself or cutOff; atomic
	n     uint32 // the number of the attempt
	inner atomic.Pointer[cancellable]
}

// How an attempt has ended.
const (
	byItself = 1 + iota
	cutOff   // the parent had ended before
)

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// parent returns the subscriber's context.
func (a *attemptContext) parent() context.Context { return a.subscription.Context }

// finish cancels the context.
func (a *attemptContext) finish() {
	how := uint32(byItself)
	if a.parent().Err() != nil {
		how = cutOff
	}
	atomic.StoreUint32(&a.over, how)
	if inner := a.inner.Load(); inner != nil {
		inner.cancel()
	}
}

// real returns the real context. The first call makes it.
func (a *attemptContext) real() *cancellable {
	if inner := a.inner.Load(); inner != nil {
		return inner
	}
	parent := a.parent()
	if atomic.LoadUint32(&a.over) == byItself {
		parent = context.WithoutCancel(parent) // which may have ended since
	}
	inner := new(cancellable)
	inner.Context, inner.cancel = context.WithCancel(parent)
	made := a.inner.CompareAndSwap(nil, inner)
	if !made || atomic.LoadUint32(&a.over) != 0 { // which finish has stored before it looks for inner
		inner.cancel()
	}
	return a.inner.Load()
}

// NoProgress is called by the operators that deliver bookmarks.
func (a *attemptContext) NoProgress() { a.subscription.Bookmarks++ }

func (a *attemptContext) Deadline() (time.Time, bool) { return a.parent().Deadline() }

func (a *attemptContext) Done() <-chan struct{} { return a.real().Done() }

// Err makes the real context if this one has ended, so that a later call returns the same error.
func (a *attemptContext) Err() error {
	if a.inner.Load() == nil && a.parent().Err() == nil && atomic.LoadUint32(&a.over) == 0 {
		return nil
	}
	return a.real().Err()
}

// Value gives package context access to the real cancellable context, once there is one. So contexts derived from this
// one attach to it without a goroutine.
func (a *attemptContext) Value(key any) any {
	switch {
	case a.n > 1 && key == (attempt.Key{}), a.n > 0 && key == (retriedKey{}):
		return a
	case key == (attempt.NameKey{}) && a.subscription.Name != "":
		return a.subscription.Name
	}
	if inner := a.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return a.parent().Value(key)
}

// AttemptFrom returns the number of the attempt that runs under ctx: the innermost attempt of RetryWhen, retry.Do,
// retry.Run, operators.MapRetry, an HTTP or gRPC client, a durable job or the open of a retry.Shared. It returns 1
// outside of any attempt.
//
// In nested layers, a number above 1 means that this work was sent before. So a retry has the number of its own layer,
// and the first attempt of a layer has the number of the attempt around it: inside the third attempt of an outer
// RetryWhen, the attempts of an inner one have the numbers 3, 2, 3 and so on.
func AttemptFrom(ctx context.Context) int {
	switch a := ctx.Value(attempt.Key{}).(type) {
	case *attemptContext:
		return int(a.n)
	case attempt.Numbered:
		return a.Number()
	}
	return 1
}

// nameFrom returns the name of what is retried under ctx, "" if there is none.
func nameFrom(ctx context.Context) string {
	name, _ := ctx.Value(attempt.NameKey{}).(string)
	return name
}

// String describes the context in the form that package context uses. Without it, printing the context would read its
// fields, which is a data race.
func (a *attemptContext) String() string { return fmt.Sprint(a.parent(), ".Attempt") }

// lookout is a cheap check of a context before each value. While an attempt runs, its context ends only with the
// subscriber's, which often never ends, so the check does not need a real cancellable context.
type lookout struct {
	over   *uint32         // of the attempt, or always
	parent context.Context // nil: it never ends
}

// always is never set.
var always uint32

func newLookout(ctx context.Context) lookout {
	l := lookout{over: &always}
	if a, ok := ctx.(*attemptContext); ok {
		l.over, ctx = &a.over, a.parent()
	}
	switch ctx.(type) {
	case *attemptContext:
		l.parent = ctx
	case *handoff.Inner: // to which a call of Done says that the stream waits
		l.parent = ctx
	default:
		if ctx.Done() != nil {
			l.parent = ctx
		}
	}
	return l
}

// never reports whether the context cannot end.
func (l lookout) never() bool { return l.over == &always && l.parent == nil }

// ended reports whether the context has ended. FromSlice and Range have it written out: in a literal that the compiler
// has copied but not made part of a loop, it inlines no calls.
func (l lookout) ended() bool {
	return atomic.LoadUint32(l.over) != 0 || l.parent != nil && l.parent.Err() != nil
}
