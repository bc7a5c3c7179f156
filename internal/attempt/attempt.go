// Package attempt carries the number of an attempt in its context.
package attempt

import "context"

// Key is the key under which the context of a retry returns itself, whatever its type.
type Key struct{}

// NameKey is the key under which the context of a named policy's attempt returns the name, a string.
type NameKey struct{}

// Numbered is the context of one attempt, under Key.
type Numbered interface{ Number() int }

// With returns the context of the n-th attempt.
func With(ctx context.Context, n int) context.Context { return &numbered{ctx, n} }

// Contexts makes the contexts of an operation's attempts.
type Contexts struct{ context.Context }

// NewContexts returns the contexts under ctx.
func NewContexts(ctx context.Context) *Contexts { return &Contexts{ctx} }

// Attempt returns the context of the n-th attempt, which never changes its number. The first ten retries need no
// allocation: their contexts are all this pointer, each with another type.
func (c *Contexts) Attempt(n int) context.Context {
	switch n {
	case 1:
		return c.Context
	case 2:
		return (*early[[2]none])(c)
	case 3:
		return (*early[[3]none])(c)
	case 4:
		return (*early[[4]none])(c)
	case 5:
		return (*early[[5]none])(c)
	case 6:
		return (*early[[6]none])(c)
	case 7:
		return (*early[[7]none])(c)
	case 8:
		return (*early[[8]none])(c)
	case 9:
		return (*early[[9]none])(c)
	case 10:
		return (*early[[10]none])(c)
	case 11:
		return (*early[[11]none])(c)
	}
	return With(c.Context, n)
}

// early is the context of one of the first retries. Its number is the length of N.
type early[N length] struct{ context.Context }

type length interface {
	[2]none | [3]none | [4]none | [5]none | [6]none | [7]none | [8]none | [9]none | [10]none | [11]none
}

type none = struct{}

func (c *early[N]) Number() int {
	var n N
	return len(n)
}

func (c *early[N]) Value(key any) any { return value(key, c, c.Context) }

type numbered struct {
	context.Context
	n int
}

func (c *numbered) Number() int { return c.n }

func (c *numbered) Value(key any) any { return value(key, c, c.Context) }

func value(key any, c Numbered, parent context.Context) any {
	if key == (Key{}) {
		return c
	}
	return parent.Value(key)
}

// Counter is the context of an attempt of RetryWhen.
type Counter interface {
	// NoProgress makes the value that the source yields next no progress. It is called on the subscriber's goroutine.
	NoProgress()
}

// Repeats is a stream.RetryHandler whose answers are no retries: its attempts have no number of their own.
type Repeats interface{ Repeats() }
