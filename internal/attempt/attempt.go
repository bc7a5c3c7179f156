// Package attempt carries the number of an attempt in its context.
package attempt

import (
	"context"
	"sync/atomic"
)

// Key is the key under which a context has a Numbered.
type Key struct{}

// Numbered is a context that knows the number of its attempt.
type Numbered interface{ Attempt() int }

// From returns the number of the innermost attempt under ctx that is a retry, 1 if there is none.
func From(ctx context.Context) int {
	if n, ok := ctx.Value(Key{}).(Numbered); ok {
		return n.Attempt()
	}
	return 1
}

// Context is the context of the retries of one operation. Its number may be set while it is in use.
type Context struct {
	context.Context
	n atomic.Int64
}

// With returns the context of the n-th attempt.
func With(ctx context.Context, n int) *Context {
	c := &Context{Context: ctx}
	c.Set(n)
	return c
}

// Set makes c the context of the n-th attempt.
func (c *Context) Set(n int) { c.n.Store(int64(n)) }

// Attempt returns the number of the attempt.
func (c *Context) Attempt() int { return int(c.n.Load()) }

// Value finds the context itself.
func (c *Context) Value(key any) any {
	if key == (Key{}) {
		return c
	}
	return c.Context.Value(key)
}
