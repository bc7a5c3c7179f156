// Package attempt carries the number of an attempt in its context.
package attempt

import (
	"context"
	"sync/atomic"
)

// Key is the key under which the context of a retry returns itself, whatever its type.
type Key struct{}

// NameKey is the key under which the context of a named policy's attempt returns the name, a string.
type NameKey struct{}

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

// Number returns the number of the attempt.
func (c *Context) Number() int { return int(c.n.Load()) }

// Value returns the context itself for Key.
func (c *Context) Value(key any) any {
	if key == (Key{}) {
		return c
	}
	return c.Context.Value(key)
}

// Counter is the context of an attempt of RetryWhen.
type Counter interface {
	// NoProgress makes the value that the source yields next no progress. It is called on the subscriber's goroutine.
	NoProgress()
}
