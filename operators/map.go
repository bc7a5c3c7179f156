package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Map returns the stream of f's answers to the values of s, one for each, in order.
//
//	s:            --1---2---3--|
//	Map(10·v):    --10--20--30-|
//
// It starts no goroutine. A nil s or f panics.
func Map[T, U any](s stream.Stream[T], f func(T) U) stream.Stream[U] {
	notNil("Map", "s", s == nil)
	notNil("Map", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		return s(ctx, func(v T) bool { return yield(f(v)) })
	}
}

// MapErr returns the same stream with f's answer for the error that it fails with. It is the place to say what was
// being done: fmt.Errorf("reading %s: %w", name, err). If f answers nil, the stream ends well instead. To go on with
// another stream use stream.Catch.
//
//	s:            --1--2--#
//	f:                    err -> err'
//	MapErr(f):    --1--2--#'
//
// The end of ctx is no failure of the stream: f is not asked for it. MapErr starts no goroutine. A nil s or f panics.
func MapErr[T any](s stream.Stream[T], f func(error) error) stream.Stream[T] {
	notNil("MapErr", "s", s == nil)
	notNil("MapErr", "f", f == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		switch {
		case stopped || err == nil:
			return nil
		case ctx.Err() != nil:
			return ending.Under(ctx, err)
		}
		return f(err)
	}
}
