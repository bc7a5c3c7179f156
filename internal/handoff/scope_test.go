package handoff

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// The run waits for the functions that the end of its context has called.
func TestScope_OnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		returned := false
		err := Stream(func(scope *Scope, _ *ending.Consumer[int]) error {
			scope.OnEnd(func() {
				time.Sleep(time.Second)
				returned = true
			})
			cancel()
			synctest.Wait()
			return nil
		})(ctx, nil)
		if err != context.Canceled || !returned {
			t.Errorf("got %v, and what was called has returned: %v", err, returned)
		}
	})
}

// When the context has ended, a source that has returned no error does not hide the error of another one.
func TestFailureAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		boom := errors.New("boom")
		err := Stream(func(scope *Scope, _ *ending.Consumer[int]) error {
			scope.Go(func(context.Context) error { return nil })
			scope.Go(func(context.Context) error { return boom })
			cancel()
			return scope.Err()
		})(ctx, nil)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, boom) {
			t.Errorf("got %v, want the end of the context and boom", err)
		}
	})
}

// counted is a context that ends at once, whatever was derived from it, and counts what is registered with it.
type counted struct {
	context.Context
	done       chan struct{}
	err        error
	registered int
}

func (c *counted) Done() <-chan struct{}        { return c.done }
func (c *counted) Err() error                   { return c.err }
func (c *counted) AfterFunc(func()) func() bool { c.registered++; return func() bool { return true } }

// Next returns the end of the context, also if a source has a value, and registers with the context once.
func TestReceiver_Next(t *testing.T) {
	for values := range 20 {
		ctx := &counted{Context: t.Context(), done: make(chan struct{})}
		_ = Stream(func(scope *Scope, _ *ending.Consumer[int]) error {
			in := NewReceiver[int](scope)
			in.Start(func(_ context.Context, yield func(int) bool) error {
				for yield(1) {
				}
				return nil
			})
			for range values {
				event, err := in.Next()
				if err != nil {
					t.Fatal(err)
				}
				event.From.Request()
			}
			if ctx.registered != 2 { // the receiver and the source
				t.Errorf("after %d values: %d registrations, want 2", values, ctx.registered)
			}
			ctx.err = context.Canceled
			close(ctx.done)
			for range 20 {
				if event, err := in.Next(); err != context.Canceled {
					t.Fatalf("after %d values and the end of the context: %v, %v", values, event.Value, err)
				}
			}
			return nil
		})(ctx, nil)
	}
}

// looking is a context whose Err calls looked once after it has read its result, when it is armed.
type looking struct {
	context.Context
	armed  atomic.Bool
	looked func()
}

func (l *looking) Err() error {
	err := l.Context.Err()
	if l.armed.CompareAndSwap(true, false) {
		l.looked()
	}
	return err
}

// An end of the context is noticed also between the operator's look at the context and its look at the queue, after it
// was woken for a value that the end takes from the queue.
func TestReceiver_NextIsWokenByEachEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		ctx := &looking{Context: parent, looked: func() {
			cancel(io.EOF)
			synctest.Wait() // the receiver has refused the value
		}}
		err := Stream(func(scope *Scope, _ *ending.Consumer[int]) error {
			in := NewReceiver[int](scope)
			in.Start(func(_ context.Context, yield func(int) bool) error {
				time.Sleep(time.Millisecond) // the operator waits
				ctx.armed.Store(true)
				yield(1)
				return nil
			})
			event, err := in.Next()
			if err == nil {
				t.Errorf("got %v", event.Value)
			}
			return err
		})(ctx, nil)
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}
