//go:build go1.27

// gofmt of Go 1.26 cannot parse this file, which has methods with type parameters: use that of Go 1.27.

package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
)

// here is this package's name in panics and errors.
const here op.Package = "stream"

// These methods need type parameters of their own, which Go 1.27 allows. Each is the function of the same name in
// package operators; the comment there is its contract.

// Map applies f to each value of s.
//
//	s:            --1---2---3--|
//	Map(10·v):    --10--20--30-|
func (s Stream[T]) Map[U any](f func(T) U) Stream[U] { return op.Map(here, s, f) }

// TryMap is Map with an f that can fail. The first error of f ends the stream. f receives the run's context.
//
//	s:            --1---2---x--|
//	TryMap(f):    --10--20--#
func (s Stream[T]) TryMap[U any](f func(context.Context, T) (U, error)) Stream[U] {
	return op.TryMap(here, s, f)
}

// TryFilter is Filter with a keep that can fail. The first error of keep ends the stream. keep receives the run's
// context.
//
//	s:                  --1--2--3--x--|
//	TryFilter(odd):     --1-----3--#
func (s Stream[T]) TryFilter(keep func(context.Context, T) (bool, error)) Stream[T] {
	return op.TryFilter(here, s, keep)
}

// MapErr yields the values of s and replaces its error err by f(err). If f returns nil, the stream ends without an
// error. The end of ctx is not a failure of s.
//
//	s:            --1--2--#
//	MapErr(f):    --1--2--#'
func (s Stream[T]) MapErr(f func(error) error) Stream[T] { return op.MapErr(here, s, f) }

// FlatMap runs the stream f(v) for each value v, at most concurrency of them at once, and yields their values. It keeps
// no order: ConcatMap does. The first error cancels all others.
//
//	s:                --1--2--3--|
//	FlatMap(2, f):    ---a--c-b-ed|
func (s Stream[T]) FlatMap[U any](concurrency int, f func(T) Stream[U]) Stream[U] {
	return op.FlatMap(here, s, concurrency, f)
}

// ConcatMap runs the stream f(v) for each value v, one after the other, and yields their values. s waits meanwhile.
//
//	s:               --1------2--|
//	ConcatMap(f):    ---a--b---c-d|
func (s Stream[T]) ConcatMap[U any](f func(T) Stream[U]) Stream[U] { return op.ConcatMap(here, s, f) }

// SwitchMap runs the stream f(v) for each value v and yields its values. The next value of s cancels it.
//
//	s:               --1------2-----|
//	SwitchMap(f):    ---a--b---c--d-|
func (s Stream[T]) SwitchMap[U any](f func(T) Stream[U]) Stream[U] { return op.SwitchMap(here, s, f) }

// ExhaustMap runs the stream f(v) for a value v and yields its values; values of s that come meanwhile are dropped.
//
//	s:                --1--x----2----|
//	ExhaustMap(f):    ---a--b----c--d|
func (s Stream[T]) ExhaustMap[U any](f func(T) Stream[U]) Stream[U] { return op.ExhaustMap(here, s, f) }

// Scan yields the accumulated values: f(seed, first), then f of that result and the second value, and so on.
//
//	s:             --1--2--3--|
//	Scan(0, +):    --1--3--6--|
func (s Stream[T]) Scan[A any](seed A, f func(A, T) A) Stream[A] { return op.Scan(here, s, seed, f) }

// Reduce yields one value when s has ended: the last of Scan's, or seed if s is empty. A failure is returned without
// it.
//
//	s:               --1--2--3--|
//	Reduce(0, +):    -----------6|
func (s Stream[T]) Reduce[A any](seed A, f func(A, T) A) Stream[A] {
	return op.Reduce(here, "Reduce", s, seed, f)
}

// Count yields one value when s has ended: the number of its values. A failure is returned without it.
//
//	s:          --a--b--c--|
//	Count():    -----------3|
func (s Stream[T]) Count() Stream[int] {
	return op.Reduce(here, "Count", s, 0, func(n int, _ T) int { return n + 1 })
}

// First yields the first value of s and cancels s. It fails if s is empty.
//
//	s:          --a--b--|
//	First():    --a|
func (s Stream[T]) First() Stream[T] { return op.First(here, s) }

// Last yields the last value of s when s has ended. It fails if s is empty.
//
//	s:         --a--b--|
//	Last():    --------b|
func (s Stream[T]) Last() Stream[T] { return op.Last(here, s) }

// DistinctBy yields the values of s whose key has not come before. It keeps all keys.
//
//	s:                   --a--B--b--c--|
//	DistinctBy(lower):   --a--B-----c--|
func (s Stream[T]) DistinctBy[K comparable](key func(T) K) Stream[T] {
	return op.Distinct(here, "DistinctBy", s, key)
}

// DistinctUntilChangedBy yields the values of s whose key differs from that of the value before.
//
//	s:                               --a--A--b--a--|
//	DistinctUntilChangedBy(lower):   --a-----b--a--|
func (s Stream[T]) DistinctUntilChangedBy[K comparable](key func(T) K) Stream[T] {
	return op.DistinctUntilChanged(here, "DistinctUntilChangedBy", s, key)
}

// ZipWith yields f of the first values of s and b, then of the second ones, and so on. It ends with the shorter stream.
//
//	s:                --1-----2--3--|
//	b:                ----4-5-6----
//	ZipWith(b, +):    ----5---7--9--|
func (s Stream[T]) ZipWith[B, C any](b Stream[B], f func(T, B) C) Stream[C] {
	return op.ZipWith(here, "ZipWith", s, b, f)
}

// ZipWith3 is ZipWith for three streams.
//
//	s:                 --1-----2--3--|
//	b:                 ----4-5-6----
//	c:                 -7------8-----
//	ZipWith3(b, c, +): ----12--15----|
func (s Stream[T]) ZipWith3[B, C, D any](b Stream[B], c Stream[C], f func(T, B, C) D) Stream[D] {
	return op.ZipWith3(here, s, b, c, f)
}

// CombineLatest yields f of the latest values of s and b at each value of either, once both have had one.
//
//	s:                      --1-----2----|
//	b:                      ----4-5------|
//	CombineLatest(b, +):    ----5-6-7----|
func (s Stream[T]) CombineLatest[B, C any](b Stream[B], f func(T, B) C) Stream[C] {
	return op.CombineLatest(here, s, b, f)
}

// CombineLatest3 is CombineLatest for three streams.
//
//	s:                          --1--------2--|
//	b:                          -----x--|
//	c:                          ---p----q-----|
//	CombineLatest3(b, c, +):    -----A--B--C--|    A = 1xp, B = 1xq, C = 2xq
func (s Stream[T]) CombineLatest3[B, C, D any](b Stream[B], c Stream[C], f func(T, B, C) D) Stream[D] {
	return op.CombineLatest3(here, s, b, c, f)
}

// WithLatestFrom yields f(v, latest) for each value v of s, with the latest value of other. The first value of s waits
// until other has had one.
//
//	s:                           --1-----2--3--|
//	other:                       ----4-5-------
//	WithLatestFrom(other, +):    ----5---7--8--|
func (s Stream[T]) WithLatestFrom[B, C any](other Stream[B], f func(T, B) C) Stream[C] {
	return op.WithLatestFrom(here, s, other, f)
}

// TakeUntil yields the values of s until stop yields its first value, which ends the stream without an error. A failure
// of stop ends it too. To stop at a channel or a context use TakeUntilDone.
//
//	s:                  --a--b--c--d--|
//	stop:               ---------x
//	TakeUntil(stop):    --a--b--c|
func (s Stream[T]) TakeUntil[S any](stop Stream[S]) Stream[T] { return op.TakeUntil(here, s, stop) }

// Sample yields the latest value of s at each value of sampler, if there is a new one.
//
//	s:                  -1-2----3------|
//	sampler:            ----x---x---x--
//	Sample(sampler):    ----2---3------|
func (s Stream[T]) Sample[S any](sampler Stream[S]) Stream[T] { return op.Sample(here, s, sampler) }

// Batch yields the values of s in slices of at most most values. A slice is delivered when it is full, or when wait has
// passed since its first value; 0 is no limit in time. The rest is delivered when s ends or fails. The call names B, as
// in s.Batch[[]int](100, time.Second).
//
//	s:                     --a-b-c----d---------e-f-|
//	Batch[[]T](3, 5):      ------[abc]-----[d]------[ef]|
func (s Stream[T]) Batch[B ~[]T](most int, wait time.Duration) Stream[B] {
	return op.Batch[T, B](here, s, most, wait)
}

// GroupBy splits s by key, runs the stream that f returns for each group, all concurrently, and yields their values.
//
//	s:                         --a---b---a---a---b--|
//	GroupBy(letter, counted):  --1---1---2---3---2--|
func (s Stream[T]) GroupBy[K comparable, U any](key func(T) K, f func(key K, group Stream[T]) Stream[U]) Stream[U] {
	return op.GroupBy(here, s, key, f)
}

// Window splits s into windows of at most most values and of at most span, 0 for no limit in time. It runs the stream
// that f returns for each window, one after the other, and yields their values.
//
//	s:                       --1-2-3-4-5-|
//	Window(2, 0, sum):       ----3---7---5|
func (s Stream[T]) Window[U any](most int, span time.Duration, f func(window Stream[T]) Stream[U]) Stream[U] {
	return op.Window(here, s, most, span, f)
}

// Share runs s once for all consumers that run it at the same time. It is hot: a consumer that comes late misses what
// came before.
func (s Stream[T]) Share() Stream[T] { return op.Share(here, "Share", s, 1) }

// ShareN is Share that runs s only when there are n consumers.
func (s Stream[T]) ShareN(n int) Stream[T] { return op.Share(here, "ShareN", s, n) }

// ShareReplay is Share for consumers that come late: each first receives the last n values. After s has ended without
// an error, it is not run again.
func (s Stream[T]) ShareReplay(n int) Stream[T] { return op.ShareReplay(here, s, n) }
