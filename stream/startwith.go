package stream

import "slices"

// StartWith yields the given values, then runs s and yields its values.
//
//	source:           --a--b--|
//	StartWith(x, y):  xy--a--b--|
func (s Stream[T]) StartWith(v ...T) Stream[T] {
	s.require("StartWith")
	return FromSlice(slices.Clone(v)).Concat(s)
}
