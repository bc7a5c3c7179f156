package stream

import "context"

// IgnoreElements runs s, drops its values, and ends or fails as s does. It is for a stream that is run for its side
// effects.
//
//	source:            --a--b--#
//	IgnoreElements():  --------#
func (s Stream[T]) IgnoreElements() Stream[T] {
	s.require("IgnoreElements")
	return func(ctx context.Context, _ func(T) bool) error {
		return s(ctx, func(T) bool { return true })
	}
}
