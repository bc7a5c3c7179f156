package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// CombineLatest returns the stream of f's answers to the last values of a and b: one for each value of either, once
// both have had one.
//
//	a:                    --1--------2----3--|
//	b:                    -----x--y----|
//	CombineLatest(a+b):   -----1x-1y-2y---3y-|
//
// It ends when both have ended, or as soon as one has ended without a value, for there is nothing to combine then. A
// failure of either cancels the other one and is returned.
//
// f is called on the caller's goroutine; a and b run on goroutines of their own. No combination is dropped: while the
// consumer has one in hand, the stream whose value it was waits until it is processed, and the other one can hold one
// more value.
func CombineLatest[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.CombineLatest(here, a, b, f)
}
