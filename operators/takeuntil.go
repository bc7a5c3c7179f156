package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// TakeUntil returns the stream of the values of s until stop yields its first value, which ends it well: s is cancelled
// then, and no value of s comes after it. If stop ends without a value, s goes on; if stop fails, so does the stream.
//
//	s:                  --a--b--c--d--|
//	stop:               ---------x
//	TakeUntil(stop):    --a--b--c|
//
// While the consumer has a value in hand, stop cannot take it back; the stream ends when the consumer is done with it.
//
// stop runs on a goroutine of its own, begun before s, and s on the caller's; the two run at the same time. So a stop
// that has a value at once lets any number of values of s through before it: the number has no bound. (In ReactiveX,
// where such a stop has its turn first, none would come.) To end a stream by a channel or a context use
// [stream.Stream.TakeUntilDone], which lets nothing through once it is done; to begin no s at all, decide inside
// stream.Defer. "How to stop a stream" in docs/semantics.md compares the ways.
func TakeUntil[T, S any](s stream.Stream[T], stop stream.Stream[S]) stream.Stream[T] {
	return op.TakeUntil(here, s, stop)
}
