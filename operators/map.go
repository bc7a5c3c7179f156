package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Map applies f to each value of s.
//
//	s:            --1---2---3--|
//	Map(10·v):    --10--20--30-|
func Map[T, U any](s stream.Stream[T], f func(T) U) stream.Stream[U] {
	return op.Map(here, s, f)
}

// TryMap is Map with an f that can fail. The first error of f ends the stream with that error. f receives the context
// of the run.
//
//	s:            --1---2---x--|
//	TryMap(f):    --10--20--#
//
// A RetryWhen after TryMap runs s again from its beginning. To retry a single value, use MapRetry.
func TryMap[T, U any](s stream.Stream[T], f func(context.Context, T) (U, error)) stream.Stream[U] {
	return op.TryMap(here, s, f)
}

// MapErr yields the values of s and replaces its error err by f(err). Use it to add context: fmt.Errorf("reading %s:
// %w", name, err). If f returns nil, the stream ends without an error. To continue with another stream use
// stream.Catch.
//
//	s:            --1--2--#
//	f:                    err -> err'
//	MapErr(f):    --1--2--#'
//
// The end of ctx is not a failure of the stream, and f is not called for it.
func MapErr[T any](s stream.Stream[T], f func(error) error) stream.Stream[T] {
	return op.MapErr(here, s, f)
}

// TryFilter yields the values for which keep returns true. The first error of keep ends the stream with that error.
// keep receives the context of the run.
//
//	s:                  --1---2---3---x--|
//	TryFilter(odd):     --1-------3---#
//
// A RetryWhen after TryFilter runs s again from its beginning.
func TryFilter[T any](s stream.Stream[T], keep func(context.Context, T) (bool, error)) stream.Stream[T] {
	return op.TryFilter(here, s, keep)
}
