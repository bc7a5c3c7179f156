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

// TryMap is Map with an f that can fail: its first error ends the stream, and is the error that the stream fails with. f
// gets the context of the run.
//
//	s:            --1---2---x--|
//	TryMap(f):    --10--20--#
//
// A RetryWhen behind it runs s again from its beginning; to retry the one value, use MapRetry. TryMap starts no goroutine.
func TryMap[T, U any](s stream.Stream[T], f func(context.Context, T) (U, error)) stream.Stream[U] {
	notNil("TryMap", "s", s == nil)
	notNil("TryMap", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		return tryEach(ctx, s, func(v T) (bool, error) {
			u, err := f(ctx, v)
			if err != nil {
				return false, err
			}
			return yield(u), nil
		})
	}
}

// TryFilter returns the stream of the values for which keep returns true. The first error of keep ends the stream, and is
// the error that the stream fails with. keep gets the context of the run.
//
//	s:                  --1---2---3---x--|
//	TryFilter(odd):     --1-------3---#
//
// A RetryWhen behind it runs s again from its beginning. TryFilter starts no goroutine.
func TryFilter[T any](s stream.Stream[T], keep func(context.Context, T) (bool, error)) stream.Stream[T] {
	notNil("TryFilter", "s", s == nil)
	notNil("TryFilter", "keep", keep == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		return tryEach(ctx, s, func(v T) (bool, error) {
			kept, err := keep(ctx, v)
			if err != nil || !kept {
				return err == nil, err
			}
			return yield(v), nil
		})
	}
}

// tryEach runs s with a yield that may fail, which ends the run.
func tryEach[T any](ctx context.Context, s stream.Stream[T], yield func(T) (bool, error)) error {
	var failure error
	stopped := false
	err := s(ctx, func(v T) bool {
		if !stopped {
			var more bool
			more, failure = yield(v)
			stopped = !more
		}
		return !stopped
	})
	switch {
	case failure != nil:
		return ending.Under(ctx, failure)
	case stopped:
		return nil
	}
	return err
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
