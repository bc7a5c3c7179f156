package grace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/grace"
)

func TestMain(m *testing.M) { check.Main(m) }

func made(t *testing.T) *grace.Context { return grace.New(context.WithCancel(t.Context())) }

// expect checks whether the context has ended, without a call of its own methods.
func expect(t *testing.T, c *grace.Context, ended bool) {
	t.Helper()
	if (c.Context.Err() != nil) != ended {
		t.Errorf("the context: %v, want it ended: %v", c.Context.Err(), ended)
	}
}

func TestCancel_BeforeTheStreamBegins(t *testing.T) {
	for name, begin := range map[string]func(*grace.Context){
		"it yields or returns": func(c *grace.Context) { c.Begin() },
		"it waits":             func(c *grace.Context) { <-c.Done() },
		"a child waits": func(c *grace.Context) {
			child, cancel := context.WithCancel(c)
			defer cancel()
			<-child.Done()
			if child.Err() == nil {
				t.Error("the child has no error")
			}
		},
		"it calls Err again and again": func(c *grace.Context) {
			for i := range 4 {
				if c.Err() != nil {
					t.Errorf("call %d of Err: %v", i+1, c.Err())
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := made(t)
			grace.Cancel(c)
			expect(t, c, false)
			begin(c)
			expect(t, c, true)
			if !errors.Is(c.Err(), context.Canceled) {
				t.Error(c.Err())
			}
			c.End()
		})
	}
}

// A stream that has called Done waits, or yields soon. While it does neither, the cancel comes.
func TestCancel_AfterDone(t *testing.T) {
	waiting, begun, fresh := made(t), made(t), made(t)
	done := waiting.Done()
	begun.Begin()
	grace.Cancel(waiting, begun, fresh)
	<-done
	expect(t, waiting, true)
	expect(t, begun, true)
	expect(t, fresh, false)
	fresh.End()
	expect(t, fresh, true)
}

// Reset makes the context one of a stream that has not begun, and keeps a cancel.
func TestReset(t *testing.T) {
	c := made(t)
	_, _ = c.Done(), c.Err()
	c.Begin()
	c.Reset()
	grace.Cancel(c)
	expect(t, c, false)
	c.Reset()
	c.Begin()
	expect(t, c, true)
}

// A context may be printed while another goroutine uses it.
func TestContext_String(t *testing.T) {
	c := made(t)
	printed := make(chan string)
	go func() { printed <- fmt.Sprint(c) }()
	c.Begin()
	if got, want := <-printed, fmt.Sprint(c.Context, ".Grace"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.End()
}
