// Package attempt carries the number of an attempt in its context.
package attempt

import (
	"context"
	"fmt"
	"time"
)

// Key is the key under which the context of a retry returns itself, whatever its type.
type Key struct{}

// NameKey is the key under which the context of a named policy's attempt returns the name, a string.
type NameKey struct{}

// Context is the context of one attempt.
type Context struct {
	operation *context.Context
	n         int
}

// With returns the context of the n-th attempt.
func With(ctx context.Context, n int) *Context { return new(Contexts).With(ctx, n) }

// Contexts makes the contexts of one operation's attempts: the first one without an allocation besides its own, and then
// several with one.
type Contexts struct {
	operation context.Context
	first     [1]Context
	unused    []Context
}

// With returns the context of the n-th attempt. ctx is the operation's.
func (c *Contexts) With(ctx context.Context, n int) *Context {
	switch {
	case c.operation == nil:
		c.operation, c.unused = ctx, c.first[:]
	case len(c.unused) == 0:
		c.unused = make([]Context, 10)
	}
	next := &c.unused[0]
	c.unused = c.unused[1:]
	*next = Context{&c.operation, n}
	return next
}

// Number returns the number of the attempt.
func (c *Context) Number() int { return c.n }

// Value returns the context itself for Key.
func (c *Context) Value(key any) any {
	if key == (Key{}) {
		return c
	}
	return (*c.operation).Value(key)
}

func (c *Context) Deadline() (time.Time, bool) { return (*c.operation).Deadline() }
func (c *Context) Done() <-chan struct{}       { return (*c.operation).Done() }
func (c *Context) Err() error                  { return (*c.operation).Err() }

// String describes the context in the form that package context uses.
func (c *Context) String() string { return fmt.Sprint(*c.operation, ".Attempt") }

// Counter is the context of an attempt of RetryWhen.
type Counter interface {
	// NoProgress makes the value that the source yields next no progress. It is called on the subscriber's goroutine.
	NoProgress()
}
