package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// TimeShift delivers each value d after it came, so the values keep the time between them. ReactiveX calls this delay;
// [Stream.Delay] makes the source wait instead. TimeShift holds at most n values, including the one that the consumer
// processes. When it holds n, the source waits until one is done, and its next values come later. So n should be at
// least the number of values that come within d. TimeShift(d, 1) is Delay(d).
//
//	source:           -a-b--c-------|
//	TimeShift(5, 9):  ------a-b--c--|
//	TimeShift(5, 1):  ------a----b----(c|)
//
// The end or an error comes after the held values and is not delayed itself; ReactiveX returns an error at once and
// drops the values. When ctx ends, the held values are dropped. A value whose time passed while the consumer was busy
// comes at once.
//
// The source runs on its own goroutine. Each run allocates the memory for n values when it begins. TimeShift(0, n) is
// the stream itself. An n below 1 panics, and so does an n that needs more than the address space.
func (s Stream[T]) TimeShift(d time.Duration, n int) Stream[T] {
	s.require("TimeShift")
	requireWait("TimeShift: d", d)
	requireMin("TimeShift: n", n, 1)
	requireBuffer[timed[T]]("TimeShift: n", n)
	if d == 0 || n == 1 {
		return s.Delay(d)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		timer := newTimer(scope.Context())
		defer timer.Stop()
		in := handoff.NewBuffer(scope, n-1, s.timed) // one more is held here
		for !out.Stopped() {
			next, ok, err := in.Next()
			if !ok {
				return err
			}
			passed := timer.Now().Sub(next.at)
			if err := timer.Wait(scope.Context(), d-passed); err != nil {
				return err
			}
			out.Deliver(next.v)
		}
		return nil
	})
}

// timed is a value with the time at which it came.
type timed[T any] struct {
	v  T
	at time.Time
}

// timed is the stream of the values of s with their times.
func (s Stream[T]) timed(ctx context.Context, yield func(timed[T]) bool) error {
	clock := ClockFrom(ctx)
	return s(ctx, func(v T) bool { return yield(timed[T]{v, clock.Now()}) })
}
