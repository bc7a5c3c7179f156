package stream

import "context"

// IgnoreElements returns the stream that yields nothing and ends as s does: for a stream that is run for what it does.
//
//	source:            --a--b--#
//	IgnoreElements():  --------#
func (s Stream[T]) IgnoreElements() Stream[T] {
	s.require("IgnoreElements")
	return func(ctx context.Context, _ func(T) bool) error {
		return s(ctx, func(T) bool { return true })
	}
}
