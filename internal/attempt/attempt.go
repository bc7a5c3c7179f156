// Package attempt contains what package stream, package retry and their engines share about attempts: the number of an
// attempt in its context, and the subscription to a retried stream.
package attempt

import (
	"context"
	"reflect"
)

// Key is the key under which the context of a retry returns itself, whatever its type.
type Key struct{}

// NameKey is the key under which the context of a named policy's attempt returns the name, a string.
type NameKey struct{}

// Numbered is the context of one attempt, under Key.
type Numbered interface{ Number() int }

// With returns the context of the n-th attempt.
func With(ctx context.Context, n int) context.Context { return &numbered{ctx, n} }

type numbered struct {
	context.Context
	n int
}

func (c *numbered) Number() int { return c.n }

func (c *numbered) Value(key any) any {
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

// Repeats is a stream.RetryHandler whose answers are no retries: its attempts have no number of their own.
type Repeats interface{ Repeats() }

// IsNil reports whether a handler, an H, is nil, a nil function, or a nil pointer to a type that is an H itself.
func IsNil[H any](handler H) bool {
	switch v := reflect.ValueOf(handler); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Func:
		return v.IsNil()
	case reflect.Pointer:
		return v.IsNil() && v.Type().Elem().Implements(reflect.TypeFor[H]())
	}
	return false
}
