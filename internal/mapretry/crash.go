package mapretry

import (
	"runtime"
	"runtime/debug"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// crash is what ended a goroutine that did not return: a panic, or nil for runtime.Goexit.
type crash struct{ panic *handoff.Panic }

// crashed is called on a goroutine that ends without returning, with what it recovered.
func (r *run[T, U]) crashed(v any) {
	c := new(crash)
	switch v := v.(type) {
	case nil: // runtime.Goexit
	case *handoff.Panic: // keeps its first stack
		c.panic = v
	default:
		c.panic = &handoff.Panic{Value: v, Stack: debug.Stack()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crash == nil {
		r.crash = c
	}
	r.wakeConsumer()
}

// rethrow ends the consumer's goroutine as the crash has ended its own.
func (c *crash) rethrow() {
	switch {
	case c == nil:
	case c.panic == nil:
		runtime.Goexit()
	default:
		panic(c.panic)
	}
}
