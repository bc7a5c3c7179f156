package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// WithLatestFrom returns the stream of f's results for each value of s and the last value that other has had.
//
//	s:                         --1-----2--3--------4--|
//	other:                     ----a---------b--c
//	WithLatestFrom(other):     ----1a--2a-3a-------4c-|
//
// The two run at the same time. The first value of s is held, and s waits in its yield, until other has had a value or
// has ended. If other ends without a value, the values of s are dropped; else its end changes nothing. WithLatestFrom
// ends when s does, and other is cancelled then. A failure of either cancels the other one and is returned. (In
// ReactiveX the values of s that come before the first of other are dropped.)
//
// other runs on a goroutine of its own and is never made to wait: of its values only the last one is kept. s stays on
// the caller's goroutine. Both may come from one Share or ShareN(2); an other that drops the first value of that Share,
// as shared.Skip(1) does, needs an s of shared.Buffer(n), or the two wait for each other forever.
func WithLatestFrom[A, B, C any](s stream.Stream[A], other stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.WithLatestFrom(here, s, other, f)
}
