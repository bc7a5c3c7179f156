package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// CombineLatest yields f of the latest values of a and b: one result for each value of either, once both have had one.
//
//	a:                    --1--------2----3--|
//	b:                    -----x--y----|
//	CombineLatest(a+b):   -----1x-1y-2y---3y-|
//
// It ends when both have ended, or as soon as one has ended without a value, because nothing can be combined then. A
// failure of either cancels the other and is returned. An error with which the other returns after such an end is
// returned too, unless it matches context.Canceled, but of an end and a failure at one instant either may come first.
//
// f is called on the caller's goroutine; a and b run on goroutines of their own. No combination is dropped: while the
// consumer processes one, the stream whose value completed it waits, and the other one can hold one more value.
func CombineLatest[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.CombineLatest(here, a, b, f)
}

// CombineLatest3 is CombineLatest for three streams. It begins when all three have had a value. It ends when all three
// have ended, or as soon as one has ended without a value, and treats an error of another one then as CombineLatest does.
//
//	a:                       --1--------2--|
//	b:                       -----x--|
//	c:                       ---p----q-----|
//	CombineLatest3(a+b+c):   -----A--B--C--|    A = 1xp, B = 1xq, C = 2xq
func CombineLatest3[A, B, C, D any](a stream.Stream[A], b stream.Stream[B], c stream.Stream[C], f func(A, B, C) D) stream.Stream[D] {
	return op.CombineLatest3(here, a, b, c, f)
}

// CombineLatestSlice is CombineLatest for any number of streams of one type. It yields slices of their latest values,
// in the order of s: one for each value of any stream, once all have had one. (ReactiveX: combineLatest.)
//
//	s[0]:                 --a--------b--|
//	s[1]:                 -----x--y--|
//	CombineLatestSlice:   -----A--B--C--|    A = [a x], B = [a y], C = [b y]
//
// It ends when all have ended, or as soon as one has ended without a value. The first failure cancels the others and is
// returned. It treats an error with which another one returns after such an end as CombineLatest does. Without streams
// it is empty. No combination is dropped: while the consumer processes one, the stream whose value completed it waits,
// and each other one can hold one more value. The consumer may keep the slice. Each stream runs on its own goroutine.
func CombineLatestSlice[T any](s ...stream.Stream[T]) stream.Stream[[]T] {
	return op.CombineLatestSlice[T](here, s...)
}
