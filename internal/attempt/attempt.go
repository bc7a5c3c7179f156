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
func With(ctx context.Context, n int) context.Context {
	if n < len(nth) {
		return NewOperation(ctx).Attempt(n)
	}
	return &later{ctx, n}
}

// Operation makes the contexts of an operation's attempts.
type Operation struct{ context.Context }

// NewOperation returns the operation under ctx.
func NewOperation(ctx context.Context) *Operation { return &Operation{ctx} }

// Attempt returns the context of the n-th attempt. The first ten retries need no allocation.
func (o *Operation) Attempt(n int) context.Context {
	if n < len(nth) && nth[n] != nil {
		return nth[n](o)
	}
	return &later{o.Context, n}
}

// later is the context of an attempt after the first ten retries.
type later struct {
	context.Context
	n int
}

func (c *later) Number() int { return c.n }

func (c *later) Value(key any) any { return value(key, c, c.Context) }

// early is the context of one of the first attempts. Its number is in its type, the length of an array, so the contexts of
// all attempts are one pointer, and yet none of them changes its number.
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

// nth converts an operation to the context of its n-th attempt.
var nth = [...]func(*Operation) context.Context{
	2: as[[2]none], 3: as[[3]none], 4: as[[4]none], 5: as[[5]none], 6: as[[6]none],
	7: as[[7]none], 8: as[[8]none], 9: as[[9]none], 10: as[[10]none], 11: as[[11]none],
}

func as[N length](o *Operation) context.Context { return (*early[N])(o) }

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
