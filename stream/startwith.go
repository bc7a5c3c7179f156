package stream

import "slices"

// StartWith returns the stream of the given values, then of those of s, which is run when they are delivered.
//
//	source:           --a--b--|
//	StartWith(x, y):  xy--a--b--|
func (s Stream[T]) StartWith(v ...T) Stream[T] {
	s.require("StartWith")
	return FromSlice(slices.Clone(v)).Concat(s)
}
