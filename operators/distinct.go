package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Distinct returns the stream of the values of s that have not come before in the same run.
//
//	s:           --a--b--a--c--b--|
//	Distinct:    --a--b-----c-----|
//
// A run remembers every value that it has delivered: on a stream without end use DistinctUntilChanged, or bound it. A
// NaN is no other's equal and always delivered. Values of an interface type must be comparable; one that is not panics,
// as it does with ==.
func Distinct[T comparable](s stream.Stream[T]) stream.Stream[T] {
	return op.Distinct(here, "Distinct", s, func(v T) T { return v })
}

// DistinctBy is Distinct for values that are the same when they have the same key.
//
//	s:                   --a1-b1-a2-c1-b2-|
//	DistinctBy(letter):  --a1-b1----c1----|
func DistinctBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return op.Distinct(here, "DistinctBy", s, key)
}

// DistinctUntilChanged returns the stream of the values of s that differ from the one before.
//
//	s:                       --a--a--b--b--a--|
//	DistinctUntilChanged:    --a-----b-----a--|
func DistinctUntilChanged[T comparable](s stream.Stream[T]) stream.Stream[T] {
	return op.DistinctUntilChanged(here, "DistinctUntilChanged", s, func(v T) T { return v })
}

// DistinctUntilChangedBy is DistinctUntilChanged for values that are the same when they have the same key.
//
//	s:                               --a1-a2-b1-b2-a3-|
//	DistinctUntilChangedBy(letter):  --a1----b1----a3-|
func DistinctUntilChangedBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return op.DistinctUntilChanged(here, "DistinctUntilChangedBy", s, key)
}
