package stream

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Buffer returns the same stream with its source run ahead of the consumer by up to n values: while the consumer has
// one in hand, up to n more have been produced. An error, or the end, comes after the values before it; when ctx ends,
// what is in the buffer is dropped.
//
//	source:                 abcd------e|
//	a consumer busy 3:      a--b--c--de|   (without Buffer(3), b would have been produced when a was done)
//
// The source's yield returns when the buffer has taken the value, not when the consumer is done with it: the position
// of an operators.Resume before Buffer moves then. The source runs on a goroutine of its own. Each run takes the memory
// for n values when it begins. Buffer(0) is the stream itself; a negative n panics, and so does one for which no
// address space is large enough.
func (s Stream[T]) Buffer(n int) Stream[T] {
	s.require("Buffer")
	requireBuffer[T]("Buffer: n", n)
	if n == 0 {
		return s
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		in := handoff.NewBuffer(scope, n, s)
		for !out.Stopped() {
			v, ok, err := in.Next()
			if !ok {
				return err
			}
			out.Deliver(v)
		}
		return nil
	})
}
