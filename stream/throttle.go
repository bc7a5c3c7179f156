package stream

import (
	"context"
	"time"
)

// Throttle returns the stream of the first value, then of the first value that comes d or more after the last one
// delivered, and so on; the others are dropped (ReactiveX: throttleFirst). [Stream.ThrottleLatest] keeps the latest of
// them. A clock that was set back to before the last delivery starts anew. Throttle(0) is the stream itself; a negative
// d panics.
//
//	source:       -a-b-c---d--e--f-|
//	Throttle(5):  -a-------d-----f-|
//
// It sets no timer and starts no goroutine. Time is that of the clock that ctx carries, see [WithClock].
func (s Stream[T]) Throttle(d time.Duration) Stream[T] {
	s.require("Throttle")
	requireWait("Throttle: d", d)
	if d == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		clock := ClockFrom(ctx)
		var opened time.Time
		first := true
		return s(ctx, func(v T) bool {
			now := clock.Now()
			if passed := now.Sub(opened); !first && 0 <= passed && passed < d {
				return true
			}
			first, opened = false, now
			return yield(v)
		})
	}
}
