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

// Zip is ZipWith that yields each two values as a Pair. b runs on a goroutine of its own.
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
// returned at once, even if a value waits. If the other then returns an error, that error is returned too, unless it
// matches context.Canceled. If one ends and the other fails at one instant, either may come first.
//
// Nothing is buffered: each stream waits for the other's value, and both wait until the consumer is done with the pair.
// a runs on the caller's goroutine, and b on its own.
func ZipWith[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.ZipWith(here, "ZipWith", a, b, f)
}

// ZipWith3 is ZipWith for three streams. It ends as soon as one of them has ended. If another one then returns an
// error, ZipWith3 does as ZipWith.
//
//	a:               --1-----2-----|
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
// It ends as soon as one of them has ended, or at the first failure, and cancels the others. If another one then
// returns an error, ZipSlice does as ZipWith. Without streams it is empty. Nothing is buffered: each stream waits for
// the others' values, and all wait until the consumer is done with the slice, which it may keep. s[0] runs on the
// caller's goroutine, each other stream on its own.
func ZipSlice[T any](s ...stream.Stream[T]) stream.Stream[[]T] {
	return op.ZipSlice[T](here, s...)
}

// CombineLatest yields f of the latest values of a and b: one result for each value of either, once both have had one.
//
//	a:                    --1--------2----3--|
//	b:                    -----x--y----|
//	CombineLatest(a+b):   -----1x-1y-2y---3y-|
//
// It ends when both have ended, or as soon as one has ended without a value, because nothing can be combined then. A
// failure of either cancels the other and is returned. If one ends without a value, it cancels the other too; an error
// that the other then returns is the result, unless it matches context.Canceled. If one ends and the other fails at one
// instant, either may come first.
//
// f is called on the caller's goroutine; a and b run on goroutines of their own. No combination is dropped: while the
// consumer processes one, the stream whose value completed it waits, and the other one can hold one more value.
func CombineLatest[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.CombineLatest(here, a, b, f)
}

// CombineLatest3 is CombineLatest for three streams. It begins when all three have had a value. It ends when all three
// have ended, or as soon as one has ended without a value. If another one then returns an error, CombineLatest3 does as
// CombineLatest. Each runs on a goroutine of its own.
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
// returned. If one has ended without a value and another one then returns an error, CombineLatestSlice does as
// CombineLatest. Without streams it is empty. No combination is dropped: while the consumer processes one, the stream
// whose value completed it waits, and each other one can hold one more value. The consumer may keep the slice. Each
// stream runs on its own goroutine.
func CombineLatestSlice[T any](s ...stream.Stream[T]) stream.Stream[[]T] {
	return op.CombineLatestSlice[T](here, s...)
}

// WithLatestFrom yields f(v, latest) for each value v of s, with the latest value of other.
//
//	s:                         --1-----2--3--------4--|
//	other:                     ----a---------b--c
//	WithLatestFrom(other):     ----1a--2a-3a-------4c-|
//
// The two run at the same time. The first value of s waits until other has had a value or has ended. (ReactiveX drops
// the values of s that come before the first of other.) If other ends without a value, the values of s are dropped;
// otherwise its end changes nothing. WithLatestFrom ends when s does, and cancels other then. A failure of either
// cancels the other and is returned. If other fails at the instant of its first value, the value of s that waited for
// it may be lost. If other neither yields nor ends, and s has a value, WithLatestFrom does not end,
// because s waits with its first value: give such an other a first value with StartWith, or a Timeout.
//
// other runs on its own goroutine and never waits: only its latest value is kept. s runs on the caller's goroutine.
// Both may come from one Share or ShareN(2). If other drops the first value of that Share, as shared.Skip(1) does, use
// shared.Buffer(n) for s: otherwise the two wait for each other forever.
func WithLatestFrom[A, B, C any](s stream.Stream[A], other stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.WithLatestFrom(here, s, other, f)
}

// Race yields the values of the first stream that yields a value, ends, or fails. The others are cancelled then, and
// have returned before its first value is delivered. (ReactiveX: amb.)
//
//	a:          -----1--2--|
//	b:          --x----y--z--|
//	c:          -------#
//	Race:       --x----y--z--|
//
// An error wins the race too. To race for the first success, give each stream its own RetryWhen or Catch. If several
// streams are first at the same moment, any of them may win. A Race without streams is empty, and a Race of one stream
// is that stream; otherwise each stream runs on its own goroutine.
func Race[T any](s ...stream.Stream[T]) stream.Stream[T] {
	return op.Race(here, s...)
}

// Sample yields the latest value of s at each value of the sampler, unless that value was delivered already. With
// stream.Interval(d) as sampler it samples every d.
//
//	s:                  -1-2----3---------4-|
//	sampler:            ----x------x---x------
//	Sample(sampler):    ----2------3--------|
//
// It ends when s or the sampler does. As in RxJava and RxJS, a value that has not been sampled by then is dropped. A
// failure of either cancels the other and is returned.
//
// s runs on its own goroutine and never waits, however slow the consumer is. The sampler runs on the caller's
// goroutine.
func Sample[T, S any](s stream.Stream[T], sampler stream.Stream[S]) stream.Stream[T] {
	return op.Sample(here, s, sampler)
}

// TakeUntil yields the values of s until stop yields its first value, and ends without an error then. It cancels s, and
// no value of s comes afterwards. If stop ends without a value, s continues. If stop fails, so does the stream.
//
//	s:                  --a--b--c--d--|
//	stop:               ---------x
//	TakeUntil(stop):    --a--b--c|
//
// If stop yields while the consumer processes a value, the stream ends when the consumer is done with it.
//
// stop runs on its own goroutine, started before s; s runs on the caller's. The two run at the same time. So even if
// stop has a value at once, any number of values of s may come before it. (In ReactiveX such a stop runs first, and no
// value of s comes.) To end a stream by a channel or a context use [stream.Stream.TakeUntilDone], which delivers
// nothing once the channel is closed. To decide whether to run s at all, use stream.Defer. "How to stop a stream" in
// docs/semantics.md compares the ways.
func TakeUntil[T, S any](s stream.Stream[T], stop stream.Stream[S]) stream.Stream[T] {
	return op.TakeUntil(here, s, stop)
}
