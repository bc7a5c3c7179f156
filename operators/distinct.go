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
// It starts no goroutine.
func DistinctUntilChanged[T comparable](s stream.Stream[T]) stream.Stream[T] {
	notNil("DistinctUntilChanged", "s", s == nil)
	return distinctUntilChanged(s, func(v T) T { return v })
}

// DistinctUntilChangedBy is DistinctUntilChanged for values that are the same when they have the same key.
//
//	s:                               --a1-a2-b1-b2-a3-|
//	DistinctUntilChangedBy(letter):  --a1----b1----a3-|
//
// It starts no goroutine.
func DistinctUntilChangedBy[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	notNil("DistinctUntilChangedBy", "s", s == nil)
	notNil("DistinctUntilChangedBy", "key", key == nil)
	return distinctUntilChanged(s, key)
}

func distinctUntilChanged[T any, K comparable](s stream.Stream[T], key func(T) K) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		var last K
		some := false
		return s(ctx, func(v T) bool {
			k := key(v)
			if some && k == last {
				return true
			}
			last, some = k, true
			return yield(v)
		})
	}
}
