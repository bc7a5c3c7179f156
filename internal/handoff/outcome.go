package handoff

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Outcome is how a function ended on a goroutine of its own: it has returned, panicked, or called runtime.Goexit. The
// zero Outcome is a return. One goroutine writes it and others read it afterwards.
type Outcome struct {
	panic  *Panic
	exited bool
}

// Of calls f and records how it ended. It recovers a panic of f; a runtime.Goexit continues.
func (o *Outcome) Of(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			o.panic = newPanic(v)
		} else {
			o.exited = true
		}
	}()
	f()
	returned = true
}

// Returned reports whether the function has returned.
func (o *Outcome) Returned() bool { return o.panic == nil && !o.exited }

// Raise repeats on this goroutine what ended the function: it panics with a *Panic, or calls runtime.Goexit. After a
// return it does nothing.
func (o *Outcome) Raise() {
	switch {
	case o.panic != nil:
		panic(o.panic)
	case o.exited:
		runtime.Goexit()
	}
}

// Panic is the value with which a panic of a source's goroutine is raised again on the consumer's goroutine.
type Panic struct {
	Value any
	Stack []byte
}

// newPanic must be called on the goroutine that panics. A *Panic is returned unchanged, with its first stack.
func newPanic(v any) *Panic {
	if p, ok := v.(*Panic); ok {
		return p
	}
	return &Panic{Value: v, Stack: debug.Stack()}
}

// Error returns the value's text and the stack.
func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\nraised on the source's own goroutine:\n%s", p.Value, p.Stack)
}

// Unwrap returns the value, if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
