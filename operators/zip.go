package operators

import (
	"fmt"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Pair is two values that belong together.
type Pair[A, B any] struct {
	First  A
	Second B
}

// String returns the pair as "(first, second)".
func (p Pair[A, B]) String() string { return fmt.Sprintf("(%v, %v)", p.First, p.Second) }

// Zip is ZipWith with a Pair for each two values.
//
//	a:      --1-----2--3--|
//	b:      ----x-y-z----
//	Zip:    ----1x--2y-3z-|
func Zip[A, B any](a stream.Stream[A], b stream.Stream[B]) stream.Stream[Pair[A, B]] {
	return op.ZipWith(here, "Zip", a, b, func(a A, b B) Pair[A, B] { return Pair[A, B]{a, b} })
}

// ZipWith returns the stream of f's answers to the first values of a and b, to the second ones, and so on.
//
//	a:             --1-----2--3--|
//	b:             ----4-5-6----
//	ZipWith(+):    ----5---7--9--|
//
// It ends when no pair can be made any more: as soon as either stream has ended, and the other one is cancelled then.
// A failure of either cancels the other one and is returned at once, whether or not it has a value that waits.
//
// Nothing is buffered: each stream waits with its value for the other's, and both until the consumer is done with the
// pair. a runs on the caller's goroutine, and b on one of its own.
func ZipWith[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.ZipWith(here, "ZipWith", a, b, f)
}
