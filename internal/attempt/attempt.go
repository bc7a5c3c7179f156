// Package attempt carries the number of an attempt in its context.
package attempt

import "context"

// Key is the key under which the context of a retry returns itself, whatever its type.
type Key struct{}

// NameKey is the key under which the context of a named policy's attempt returns the name, a string.
type NameKey struct{}

// Context is the context of one attempt.
type Context struct {
	context.Context
	n int
}

// With returns the context of the n-th attempt.
func With(ctx context.Context, n int) *Context { return &Context{ctx, n} }

// Number returns the number of the attempt.
func (c *Context) Number() int { return c.n }

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
