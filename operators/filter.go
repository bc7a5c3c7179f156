package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

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
