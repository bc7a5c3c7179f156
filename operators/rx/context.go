package rx

import (
	"context"
	"sync/atomic"
	"time"
)

// watchedContext is the context of an attempt. It records whether Done has been called, that is, whether the source
// waits for its end.
type watchedContext struct {
	context.Context
	watched atomic.Bool
}

func (c *watchedContext) Done() <-chan struct{} {
	if !c.watched.Load() { // a source may call it for each item, from several goroutines
		c.watched.Store(true)
	}
	return c.Context.Done()
}

func (c *watchedContext) isWatched() bool { return c.watched.Load() }

// both returns a context that ends when ctx or other does, with the same cause. It has the values of both, ctx's first.
// It ends at cancel too, which must be called.
func both(ctx, other context.Context) (context.Context, context.CancelFunc) {
	joint, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Cause(other)) }
	if other.Err() != nil {
		end()
	}
	stop := context.AfterFunc(other, end)
	return jointContext{joint, other}, func() {
		stop()
		cancel(nil)
	}
}

type jointContext struct {
	context.Context
	other context.Context
}

func (c jointContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.other.Value(key)
}

func (c jointContext) Deadline() (time.Time, bool) {
	mine, ok := c.Context.Deadline()
	others, also := c.other.Deadline()
	if !ok || also && others.Before(mine) {
		return others, also
	}
	return mine, true
}
