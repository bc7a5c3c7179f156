package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Map returns the stream of f's answers to the values of s, one for each, in order.
//
//	s:            --1---2---3--|
//	Map(10·v):    --10--20--30-|
func Map[T, U any](s stream.Stream[T], f func(T) U) stream.Stream[U] {
	return op.Map(here, s, f)
}

// TryMap is Map with an f that can fail: its first error ends the stream, and is the error that the stream fails with.
// f gets the context of the run.
//
//	s:            --1---2---x--|
//	TryMap(f):    --10--20--#
//
// A RetryWhen behind it runs s again from its beginning; to retry the one value, use MapRetry.
func TryMap[T, U any](s stream.Stream[T], f func(context.Context, T) (U, error)) stream.Stream[U] {
	return op.TryMap(here, s, f)
}

// MapErr returns the same stream with f's answer for the error that it fails with. It is the place to say what was
// being done: fmt.Errorf("reading %s: %w", name, err). If f answers nil, the stream ends well instead. To go on with
// another stream use stream.Catch.
//
//	s:            --1--2--#
//	f:                    err -> err'
//	MapErr(f):    --1--2--#'
//
// The end of ctx is no failure of the stream: f is not asked for it.
func MapErr[T any](s stream.Stream[T], f func(error) error) stream.Stream[T] {
	return op.MapErr(here, s, f)
}
