package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Sample yields the latest value of s at each value of the sampler, unless that value was delivered already. With
// stream.Interval(d) as sampler it samples every d.
//
//	s:                  -1-2----3---------4-|
//	sampler:            ----x------x---x------
//	Sample(sampler):    ----2------3--------|
//
// It ends when s or the sampler does. As in RxJava and RxJS, a value that has not been sampled by then is dropped. A
// failure of either cancels the other and is returned.
//
// s runs on its own goroutine and never waits, however slow the consumer is. The sampler runs on the caller's
// goroutine.
func Sample[T, S any](s stream.Stream[T], sampler stream.Stream[S]) stream.Stream[T] {
	return op.Sample(here, s, sampler)
}
