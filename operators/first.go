package operators

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrEmpty is the failure that First and Last make of a stream that ends without a value.
var ErrEmpty = errors.New("operators: the stream ended without a value")

// First returns the stream of the first value of s, which is stopped then. If s ends without one, it fails with
// ErrEmpty; the stream that is empty then is s.Take(1).
//
//	s:        --a--b--c--|
//	First:    --a|
//
//	s:        -----|
//	First:    -----#
//
// It starts no goroutine. A nil s panics.
func First[T any](s stream.Stream[T]) stream.Stream[T] {
	notNil("First", "s", s == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		found := false
		err := s(ctx, func(v T) bool {
			if !found {
				found = true
				yield(v)
			}
			return false
		})
		switch {
		case found:
			return nil
		case err != nil:
			return err
		}
		return ending.Under(ctx, ErrEmpty)
	}
}

// Last returns the stream of the last value of s, which comes when s has ended. If s ends without one, it fails with
// ErrEmpty; if s fails, so does Last, without a value.
//
//	s:       --a--b--c--|
//	Last:    -----------c|
//
// It starts no goroutine. A nil s panics.
func Last[T any](s stream.Stream[T]) stream.Stream[T] {
	notNil("Last", "s", s == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var latest T
		found := false
		err := s(ctx, func(v T) bool {
			latest, found = v, true
			return true
		})
		switch {
		case err != nil:
			return err
		case !found:
			return ending.Under(ctx, ErrEmpty)
		}
		return last(ctx, latest, yield)
	}
}
