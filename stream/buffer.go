package stream

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Buffer lets the source run ahead of the consumer: while the consumer processes one value, the source can produce up
// to n more. An error, or the end, is delivered after the values before it. When ctx ends, the values in the buffer are
// dropped.
//
//	source:                 abcd------e|
//	a consumer busy 3:      a--b--c--de|   (without Buffer(3), b would have been produced when a was done)
//
// The source's yield returns when the buffer has room for the next value, not when the consumer is done with this one.
// So the position of an operators.Resume before Buffer moves before the value is processed. The source runs on its own
// goroutine. Each run allocates the memory for n values when it begins. Buffer(0) is the stream itself. An n that needs
// more than the address space panics.
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
