package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

func newInner(t *testing.T) *handoff.Inner { return handoff.NewInner(context.WithCancel(t.Context())) }

// expect checks whether the context has ended, without a call of its own methods.
func expectInner(t *testing.T, c *handoff.Inner, ended bool) {
	t.Helper()
	if (c.Context.Err() != nil) != ended {
		t.Errorf("the context: %v, want it ended: %v", c.Context.Err(), ended)
	}
}

func TestCancelInner_BeforeTheStreamBegins(t *testing.T) {
	for name, begin := range map[string]func(*handoff.Inner){
		"it yields or returns": func(c *handoff.Inner) { c.Begin() },
		"it waits":             func(c *handoff.Inner) { <-c.Done() },
		"a child waits": func(c *handoff.Inner) {
			child, cancel := context.WithCancel(c)
			defer cancel()
			<-child.Done()
			if child.Err() == nil {
				t.Error("the child has no error")
			}
		},
		"it calls Err again and again": func(c *handoff.Inner) {
			for i := range 4 {
				if c.Err() != nil {
					t.Errorf("call %d of Err: %v", i+1, c.Err())
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newInner(t)
			handoff.CancelInner(c)
			expectInner(t, c, false)
			begin(c)
			expectInner(t, c, true)
			if !errors.Is(c.Err(), context.Canceled) {
				t.Error(c.Err())
			}
			c.End()
		})
	}
}

// A stream that has called Done waits, or yields soon. While it does neither, the cancel comes.
func TestCancelInner_AfterDone(t *testing.T) {
	waiting, begun, fresh := newInner(t), newInner(t), newInner(t)
	done := waiting.Done()
	begun.Begin()
	handoff.CancelInner(waiting, begun, fresh)
	<-done
	expectInner(t, waiting, true)
	expectInner(t, begun, true)
	expectInner(t, fresh, false)
	fresh.End()
	expectInner(t, fresh, true)
}

// Reset makes the context one of a stream that has not begun, and keeps a cancel.
func TestInner_Reset(t *testing.T) {
	c := newInner(t)
	_, _ = c.Done(), c.Err()
	c.Begin()
	c.Reset()
	handoff.CancelInner(c)
	expectInner(t, c, false)
	c.Reset()
	c.Begin()
	expectInner(t, c, true)
}

// A context may be printed while another goroutine uses it.
func TestInner_String(t *testing.T) {
	c := newInner(t)
	printed := make(chan string)
	go func() { printed <- fmt.Sprint(c) }()
	c.Begin()
	if got, want := <-printed, fmt.Sprint(c.Context, ".Inner"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.End()
}
