package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Scan yields the running results of a fold: f(seed, first), then f of that result and the second value, and so on.
// There is one result for each value, as in RxJS; the seed itself is not delivered. RxJava's scan with a seed delivers
// it first.
//
//	s:               --1--2--3--|
//	Scan(0, a+v):    --1--3--6--|
//
// Each run begins with the given seed: if it is a map, a slice or a pointer, f must not change what it refers to.
func Scan[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Scan(here, s, seed, f)
}

// Reduce yields the last result of Scan when s has ended, or the seed if s is empty. If s fails, there is no result.
//
//	s:                 --1--2--3--|
//	Reduce(0, a+v):    -----------6|
//
// Each run begins with the given seed: if it is a map, a slice or a pointer, f must not change what it refers to.
func Reduce[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	return op.Reduce(here, "Reduce", s, seed, f)
}

// Count yields the number of values of s when s has ended. If s fails, there is no result.
//
//	s:        --a--b--c--|
//	Count:    -----------3|
func Count[T any](s stream.Stream[T]) stream.Stream[int] {
	return op.Reduce(here, "Count", s, 0, func(n int, _ T) int { return n + 1 })
}

// Pairwise yields each value of s together with the one before it. The first value has none before it, so there is one
// pair less than there are values.
//
//	s:           --1--2--3--4--|
//	Pairwise:    -----12-23-34-|
func Pairwise[T any](s stream.Stream[T]) stream.Stream[Pair[T, T]] {
	return op.Pairwise(here, s, func(before, v T) Pair[T, T] { return Pair[T, T]{before, v} })
}

// ErrEmpty is the error of First and Last for a stream that ends without a value. It is stream.ErrEmpty.
var ErrEmpty = stream.ErrEmpty

// First yields the first value of s and stops s. If s ends without a value, it fails with ErrEmpty; use s.Take(1) for a
// stream that is empty then.
//
//	s:        --a--b--c--|
//	First:    --a|
//
//	s:        -----|
//	First:    -----#
func First[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.First(here, s)
}

// Last yields the last value of s when s has ended. If s ends without a value, it fails with ErrEmpty. If s fails, it
// fails with that error, without a value.
//
//	s:       --a--b--c--|
//	Last:    -----------c|
func Last[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.Last(here, s)
}

// Distinct yields the values of s that have not come before in the same run.
//
//	s:           --a--b--a--c--b--|
//	Distinct:    --a--b-----c-----|
//
// A run remembers every value that it has delivered: for a stream without end use DistinctUntilChanged, or limit the
// stream. A NaN equals no other value and is always delivered. Values of an interface type must be comparable; a value
// that is not panics, as with ==.
func Distinct[T comparable](s stream.Stream[T]) stream.Stream[T] {
	return op.Distinct(here, "Distinct", s, func(v T) T { return v })
}

// DistinctBy is Distinct by key: values with the same key are the same.
//
//	s:                   --a1-b1-a2-c1-b2-|
//	DistinctBy(letter):  --a1-b1----c1----|
func DistinctBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return op.Distinct(here, "DistinctBy", s, key)
}

// DistinctUntilChanged yields the values of s that differ from the value before.
//
//	s:                       --a--a--b--b--a--|
//	DistinctUntilChanged:    --a-----b-----a--|
//
// Values of an interface type must be comparable, as for Distinct.
func DistinctUntilChanged[T comparable](s stream.Stream[T]) stream.Stream[T] {
	return op.DistinctUntilChanged(here, "DistinctUntilChanged", s, func(v T) T { return v })
}

// DistinctUntilChangedBy is DistinctUntilChanged by key: values with the same key are the same.
//
//	s:                               --a1-a2-b1-b2-a3-|
//	DistinctUntilChangedBy(letter):  --a1----b1----a3-|
func DistinctUntilChangedBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return op.DistinctUntilChanged(here, "DistinctUntilChangedBy", s, key)
}
