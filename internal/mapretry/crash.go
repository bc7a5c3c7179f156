package mapretry

import (
	"runtime"
	"runtime/debug"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// crash is the reason why a goroutine did not return: a panic, or nil for runtime.Goexit.
type crash struct{ panic *handoff.Panic }

// crashed is called on a goroutine that ends without returning, with the recovered value.
func (r *run[T, U]) crashed(v any) {
	c := new(crash)
	switch v := v.(type) {
	case nil: // runtime.Goexit
	case *handoff.Panic: // it keeps its first stack
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

// rethrow ends the consumer's goroutine in the way in which the crash has ended its own.
func (c *crash) rethrow() {
	switch {
	case c == nil:
	case c.panic == nil:
		runtime.Goexit()
	default:
		panic(c.panic)
	}
}
