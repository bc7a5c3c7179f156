package stream

import (
	"context"
	"time"
)

// Delay returns the stream of the same values, each held for d before it is delivered; the source waits meanwhile, so
// that values come at least d apart. An error and the end are not delayed. Delay(0) is the stream itself; a negative d
// panics.
//
// ReactiveX's delay shifts the values in time and keeps their distances, which is [Stream.TimeShift].
//
//	source:                   a--b--c|
//	Delay(2):                 --a----b----c|
//
// Time is that of the clock that ctx carries, see [WithClock].
func (s Stream[T]) Delay(d time.Duration) Stream[T] {
	s.require("Delay")
	requireWait("Delay: d", d)
	if d == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		alarm := newAlarm(ctx)
		defer alarm.Stop()
		stopped := false
		var cause error
		err := s(ctx, func(v T) bool {
			if stopped {
				return false
			}
			cause = alarm.Wait(ctx, d)
			stopped = cause != nil || !yield(v)
			return !stopped
		})
		if stopped {
			return cause
		}
		return err
	}
}
