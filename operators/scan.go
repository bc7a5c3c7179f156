package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Scan returns the stream of the running results of a fold: f's answer to the result so far, at first the seed, and
// each value. The seed itself is not delivered, so there is one result for each value, as in RxJS; RxJava's scan with
// a seed delivers it first.
//
//	s:               --1--2--3--|
//	Scan(0, a+v):    --1--3--6--|
//
// Each run begins with the seed as it was given: if it is a map, a slice or a pointer, f must not change what it
// refers to. Scan starts no goroutine. A nil s or f panics.
func Scan[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	notNil("Scan", "s", s == nil)
	notNil("Scan", "f", f == nil)
	return func(ctx context.Context, yield func(A) bool) error {
		result := seed
		return s(ctx, func(v T) bool {
			result = f(result, v)
			return yield(result)
		})
	}
}

// Reduce returns the stream of the one result of a fold: Scan's last one, when s has ended. The result of an empty s
// is the seed; if s fails there is none.
//
//	s:                 --1--2--3--|
//	Reduce(0, a+v):    -----------6|
//
// Each run begins with the seed as it was given: if it is a map, a slice or a pointer, f must not change what it
// refers to. Reduce starts no goroutine. A nil s or f panics.
func Reduce[T, A any](s stream.Stream[T], seed A, f func(A, T) A) stream.Stream[A] {
	notNil("Reduce", "s", s == nil)
	notNil("Reduce", "f", f == nil)
	return func(ctx context.Context, yield func(A) bool) error {
		result := seed
		err := s(ctx, func(v T) bool {
			result = f(result, v)
			return true
		})
		if err != nil {
			return err
		}
		return last(ctx, result, yield)
	}
}

// Count returns the stream of one number: how many values s had, when it has ended. If s fails there is none.
//
//	s:        --a--b--c--|
//	Count:    -----------3|
//
// It starts no goroutine. A nil s panics.
func Count[T any](s stream.Stream[T]) stream.Stream[int] {
	notNil("Count", "s", s == nil)
	return func(ctx context.Context, yield func(int) bool) error {
		n := 0
		err := s(ctx, func(T) bool {
			n++
			return true
		})
		if err != nil {
			return err
		}
		return last(ctx, n, yield)
	}
}

// last delivers v, the last value, and returns how the stream ends.
func last[T any](ctx context.Context, v T, yield func(T) bool) error {
	if !yield(v) {
		return nil
	}
	return ending.Of(ctx)
}
