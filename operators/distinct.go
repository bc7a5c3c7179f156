package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// Distinct returns the stream of the values of s that have not come before in the same run.
//
//	s:           --a--b--a--c--b--|
//	Distinct:    --a--b-----c-----|
//
// A run remembers every value that it has delivered: on a stream without end use DistinctUntilChanged, or bound it. A
// NaN is no other's equal and always delivered. Values of an interface type must be comparable; one that is not
// panics, as it does with ==. Distinct starts no goroutine. A nil s panics.
func Distinct[T comparable](s stream.Stream[T]) stream.Stream[T] {
	notNil("Distinct", "s", s == nil)
	return distinct(s, func(v T) T { return v })
}

// DistinctBy is Distinct for values that are the same when they have the same key.
//
//	s:                   --a1-b1-a2-c1-b2-|
//	DistinctBy(letter):  --a1-b1----c1----|
//
// It starts no goroutine. A nil s or key panics.
func DistinctBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	notNil("DistinctBy", "s", s == nil)
	notNil("DistinctBy", "key", key == nil)
	return distinct(s, key)
}

func distinct[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		seen := make(map[K]struct{})
		return s(ctx, func(v T) bool {
			known := len(seen)
			seen[key(v)] = struct{}{}
			return len(seen) == known || yield(v)
		})
	}
}

// DistinctUntilChanged returns the stream of the values of s that differ from the one before.
//
//	s:                       --a--a--b--b--a--|
//	DistinctUntilChanged:    --a-----b-----a--|
//
// It starts no goroutine. A nil s panics.
func DistinctUntilChanged[T comparable](s stream.Stream[T]) stream.Stream[T] {
	notNil("DistinctUntilChanged", "s", s == nil)
	return changes(s, func(a, b T) bool { return a == b })
}

// DistinctUntilChangedFunc is DistinctUntilChanged with equal to say whether a value equals the last one that was
// delivered.
//
//	s:                                             --1--2--5--6--1--|
//	DistinctUntilChangedFunc(less than 3 apart):   --1-----5-----1--|
//
// It starts no goroutine. A nil s or equal panics.
func DistinctUntilChangedFunc[T any](s stream.Stream[T], equal func(last, v T) bool) stream.Stream[T] {
	notNil("DistinctUntilChangedFunc", "s", s == nil)
	notNil("DistinctUntilChangedFunc", "equal", equal == nil)
	return changes(s, equal)
}

func changes[T any](s stream.Stream[T], equal func(last, v T) bool) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		var last T
		some := false
		return s(ctx, func(v T) bool {
			if some && equal(last, v) {
				return true
			}
			last, some = v, true
			return yield(v)
		})
	}
}
