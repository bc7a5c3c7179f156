package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/internal/ending"
)

// Timeout returns the same stream, but one that fails when its source takes longer than d to its first value, from one
// value to the next, or to its end. The time that the consumer takes for a value does not count. The error matches
// [ErrTimeout] and names d. The source's context is cancelled with the same error as its cause, and the stream returns
// when the source has: a source that does not obey its context holds it up, and what it yields or returns then is
// dropped.
//
//	source:      --a---b-----------c--|
//	Timeout(5):  --a---b----#
//
// Something that comes exactly d later may be in time or not. Timeout starts no goroutine: the source runs on the
// caller's, and its panics pass through untouched. Time is that of the clock that ctx carries, see [WithClock]. A run
// arms one timer before the source begins; a value only moves the deadline, and a timer that fires before it is armed
// anew for what is left. A d that is not positive panics.
func (s Stream[T]) Timeout(d time.Duration) Stream[T] {
	s.require("Timeout")
	requirePeriod("Timeout: d", d)
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		var failure error = timeoutError{d}
		run, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var watch alarm.Watchdog[Stopper]
		defer watch.Stop()
		watch.Start(ClockFrom(ctx), d, func() {
			if watch.Due() {
				cancel(failure)
			}
		})
		out := ending.NewConsumer(yield)
		over := false
		err := s(run, func(v T) bool {
			if over || !watch.Pause() {
				return false
			}
			if over = !out.Deliver(v) || ctx.Err() != nil; over {
				return false
			}
			watch.Resume()
			return true
		})
		if !watch.Stop() {
			cancel(failure) // in case that the timer's goroutine has not come to it
			if context.Cause(run) == failure {
				err = failure
			}
		}
		return out.End(ctx, err)
	}
}
