package handoff

import (
	"fmt"
	"runtime/debug"
)

// Panic is what a panic on a source's goroutine becomes on the consumer's: the value with the stack it came from.
type Panic struct {
	Value any
	Stack []byte
}

// newPanic is called on the goroutine that panics. A panic that was carried over before keeps its first stack.
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
