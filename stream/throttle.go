package stream

import (
	"context"
	"time"
)

// Throttle yields the first value, then the first value that comes d or more after the last delivery began, and so on;
// it drops the others (ReactiveX: throttleFirst). [Stream.ThrottleLatest] keeps the latest of the others. If the clock
// was set back to before the last delivery, the next value is delivered. Throttle(0) drops nothing.
//
//	source:       -a-b-c---d--e--f-|
//	Throttle(5):  -a-------d-----f-|
//
// It sets no timer and starts no goroutine.
func (s Stream[T]) Throttle(d time.Duration) Stream[T] {
	s.require("Throttle")
	requireWait("Throttle: d", d)
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
