package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// TakeUntil yields the values of s until stop yields its first value, and ends without an error then. It cancels s, and
// no value of s comes afterwards. If stop ends without a value, s continues. If stop fails, so does the stream.
//
//	s:                  --a--b--c--d--|
//	stop:               ---------x
//	TakeUntil(stop):    --a--b--c|
//
// If stop yields while the consumer processes a value, the stream ends when the consumer is done with it.
//
// stop runs on its own goroutine, started before s; s runs on the caller's. The two run at the same time. So even if
// stop has a value at once, any number of values of s may come before it. (In ReactiveX such a stop runs first, and no
// value of s comes.) To end a stream by a channel or a context use [stream.Stream.TakeUntilDone], which delivers
// nothing once the channel is closed. To decide whether to run s at all, use stream.Defer. "How to stop a stream" in
// docs/semantics.md compares the ways.
func TakeUntil[T, S any](s stream.Stream[T], stop stream.Stream[S]) stream.Stream[T] {
	return op.TakeUntil(here, s, stop)
}
