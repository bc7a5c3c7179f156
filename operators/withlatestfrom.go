package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// WithLatestFrom yields f(v, latest) for each value v of s, with the latest value of other.
//
//	s:                         --1-----2--3--------4--|
//	other:                     ----a---------b--c
//	WithLatestFrom(other):     ----1a--2a-3a-------4c-|
//
// The two run at the same time. The first value of s waits until other has had a value or has ended. (ReactiveX drops
// the values of s that come before the first of other.) If other ends without a value, the values of s are dropped;
// otherwise its end changes nothing. WithLatestFrom ends when s does, and cancels other then. A failure of either
// cancels the other and is returned. If other neither yields nor ends, and s has a value, WithLatestFrom does not end,
// because s waits with its first value: give such an other a first value with StartWith, or a Timeout.
//
// other runs on its own goroutine and never waits: only its latest value is kept. s runs on the caller's goroutine.
// Both may come from one Share or ShareN(2). If other drops the first value of that Share, as shared.Skip(1) does, use
// shared.Buffer(n) for s: otherwise the two wait for each other forever.
func WithLatestFrom[A, B, C any](s stream.Stream[A], other stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return op.WithLatestFrom(here, s, other, f)
}
