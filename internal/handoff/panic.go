package handoff

import (
	"fmt"
	"runtime/debug"
)

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
