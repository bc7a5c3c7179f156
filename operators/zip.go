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

// Zip is ZipWith that yields each two values as a Pair.
//
//	a:      --1-----2--3--|
//	b:      ----x-y-z----
//	Zip:    ----1x--2y-3z-|
func Zip[A, B any](a stream.Stream[A], b stream.Stream[B]) stream.Stream[Pair[A, B]] {
	return op.ZipWith(here, "Zip", a, b, func(a A, b B) Pair[A, B] { return Pair[A, B]{a, b} })
}

// ZipWith yields f of the first values of a and b, then of the second ones, and so on.
//
//	a:             --1-----2--3--|
//	b:             ----4-5-6----
//	ZipWith(+):    ----5---7--9--|
//
// It ends as soon as either stream has ended, and cancels the other. A failure of either cancels the other and is
// returned at once, even if a value waits. An error with which the other returns then is returned too, unless it matches
// context.Canceled, but of an end and a failure at one instant either may come first.
//
// Nothing is buffered: each stream waits for the other's value, and both wait until the consumer is done with the pair.
// a runs on the caller's goroutine, and b on its own.
func ZipWith[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.ZipWith(here, "ZipWith", a, b, f)
}

// ZipWith3 is ZipWith for three streams. It ends as soon as one of them has ended, and treats an error of another one as
// ZipWith does.
//
//	a:               --1-----2--3--|
//	b:               ----4-5-6----
//	c:               -7------8-----
//	ZipWith3(+):     ----12--15----|
//
// a runs on the caller's goroutine, b and c on goroutines of their own.
func ZipWith3[A, B, C, D any](a stream.Stream[A], b stream.Stream[B], c stream.Stream[C], f func(A, B, C) D) stream.Stream[D] {
	return op.ZipWith3(here, a, b, c, f)
}

// ZipSlice is Zip for any number of streams of one type. It yields a slice of their first values, then of their second
// ones, and so on, in the order of s. (ReactiveX: zip.)
//
//	s[0]:        --a-----b--c--|
//	s[1]:        ----x-y-z----
//	ZipSlice:    ----A---B--C--|    A = [a x], B = [b y], C = [c z]
//
// It ends as soon as one of them has ended, or at the first failure, and cancels the others. It treats an error with
// which another one returns then as ZipWith does. Without streams it is empty. Nothing is buffered: each stream waits
// for the others' values, and all wait until the consumer is done with the slice, which it may keep. s[0] runs on the
// caller's goroutine, each other stream on its own.
func ZipSlice[T any](s ...stream.Stream[T]) stream.Stream[[]T] {
	return op.ZipSlice[T](here, s...)
}
