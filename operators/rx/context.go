package rx

import (
	"context"
	"sync/atomic"
	"time"
)

// heededContext is the context of an attempt. It notes whether anybody in the source has asked to be told of its end.
type heededContext struct {
	context.Context
	heeded atomic.Bool
}

func (c *heededContext) Done() <-chan struct{} {
	if !c.heeded.Load() {
		c.heeded.Store(true)
	}
	return c.Context.Done()
}

func (c *heededContext) isHeeded() bool { return c.heeded.Load() }

// both returns a context that ends when ctx or other does, with that one's cause, and that has the values of both,
// ctx's first. It ends at cancel, too, which must be called.
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
