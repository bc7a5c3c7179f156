package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Sample returns the stream that delivers, at each value of the sampler, the last value of s, unless it was delivered
// already. A sampler of stream.Interval(d) samples every d.
//
//	s:                  -1-2----3---------4-|
//	sampler:            ----x------x---x------
//	Sample(sampler):    ----2------3--------|
//
// It ends when s or the sampler does. As in RxJava and RxJS, a value that has not been sampled by then is dropped. A
// failure of either cancels the other one and is returned.
//
// s runs on a goroutine of its own and is never made to wait, however slow the consumer is: that is what Sample is for.
// The sampler runs on the caller's goroutine.
func Sample[T, S any](s stream.Stream[T], sampler stream.Stream[S]) stream.Stream[T] {
	return op.Sample(here, s, sampler)
}
