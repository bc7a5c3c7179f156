package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// TimeShift returns the stream of the same values, each d later than it came, so that they keep their distances. This
// is what ReactiveX calls delay; [Stream.Delay] holds the source up instead. It holds at most n values, the one that
// the consumer has in hand among them: the source waits with the n-th until one is done, and its next ones come later.
// So n is to be at least the number of values that come within d; TimeShift(d, 1) is Delay(d).
//
//	source:           -a-b--c-------|
//	TimeShift(5, 9):  ------a-b--c--|
//	TimeShift(5, 1):  ------a----b----(c|)
//
// The end and an error come after the values that are held, and are not delayed themselves; ReactiveX returns an error
// at once and drops the values. When ctx ends they are dropped. A value whose time has passed while the consumer was
// busy comes at once.
//
// The source runs on a goroutine of its own; time is that of the clock that ctx carries, see [WithClock]. Each run
// takes the memory for n values when it begins. TimeShift(0, n) is the stream itself. A negative d panics, and so does
// an n below 1 or one for which no address space is large enough.
func (s Stream[T]) TimeShift(d time.Duration, n int) Stream[T] {
	s.require("TimeShift")
	requireWait("TimeShift: d", d)
	requireMin("TimeShift: n", n, 1)
	requireBuffer[timed[T]]("TimeShift: n", n)
	if d == 0 || n == 1 {
		return s.Delay(d)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		alarm := newAlarm(scope.Context())
		defer alarm.Stop()
		in := handoff.NewBuffer(scope, n-1, s.timed) // and one is in hand here
		for !out.Stopped() {
			next, ok, err := in.Next()
			if !ok {
				return err
			}
			passed := alarm.Now().Sub(next.at)
			if err := alarm.Wait(scope.Context(), d-passed); err != nil {
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
