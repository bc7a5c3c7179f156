package stream

import (
	"context"
	"fmt"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Concat returns the stream of all values of s, then of those of the others, each run when the one before has ended.
// The first error ends it.
//
//	source:         --a--b|
//	other:                 --c--|
//	Concat(other):  --a--b--c--|
//
// A nil stream panics.
func (s Stream[T]) Concat(others ...Stream[T]) Stream[T] {
	s.require("Concat")
	requireAll("Concat", others)
	others = slices.Clone(others)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		last := func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		}
		err := s(ctx, last)
		for _, other := range others {
			if stopped || err != nil {
				break
			}
			err = other(ctx, last)
		}
		if stopped {
			return nil
		}
		return err
	}
}

// Catch returns the stream that goes on, when s fails, with what f returns for the error. Only s's failure is caught,
// not one of the stream that f returned, and not the end of ctx. A permanent error is caught like any other. f must
// not return nil: the stream fails then, with an error that wraps the failure.
//
//	source:             --a--b--#
//	f(err):                     --c--|
//	Catch(f):           --a--b----c--|
func (s Stream[T]) Catch(f func(error) Stream[T]) Stream[T] {
	s.require("Catch")
	requireFunc(f == nil, "Catch: f")
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		if stopped || err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ending.Under(ctx, err)
		}
		next := f(err)
		if next == nil {
			return fmt.Errorf("stream: Catch: f returned a nil stream for: %w", err)
		}
		return next(ctx, yield)
	}
}

// MustNotEnd returns the stream that fails with err where s ends: a feed that stops has failed, and can be retried
// then. A consumer that stops is no end. A nil err panics.
//
//	source:           --a--b--|
//	MustNotEnd(err):  --a--b--#
func (s Stream[T]) MustNotEnd(err error) Stream[T] {
	s.require("MustNotEnd")
	requireFunc(err == nil, "MustNotEnd: err")
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		failed := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		switch {
		case stopped:
			return nil
		case failed != nil:
			return failed
		case ctx.Err() != nil:
			return ending.Of(ctx)
		}
		return err
	}
}

// Repeat returns the stream of n runs of s in all, one after another. An error ends it. Repeat(0) is empty; a negative
// n panics.
//
//	source:     --a--b|
//	Repeat(3):  --a--b--a--b--a--b|
func (s Stream[T]) Repeat(n int) Stream[T] {
	s.require("Repeat")
	requireMin("Repeat: n", n, 0)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		each := func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		}
		for range n {
			if err := ending.Of(ctx); err != nil {
				return err
			}
			err := s(ctx, each)
			if stopped {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return ending.Of(ctx)
	}
}
