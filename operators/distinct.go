package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

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
