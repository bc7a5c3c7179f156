package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// Timeout yields the values of s, and fails if s takes longer than d until its first value, from one value to the next,
// or until its end. The time that the consumer takes for a value does not count. The error matches [ErrTimeout] and
// names d and, in an attempt of RetryWhen whose handler has a method Name() string, as a retry.Policy with the option
// Name, that name. The source's context is cancelled with the same error as its cause, and the stream returns when the
// source has returned. A source that ignores its context delays that; what it yields or returns after the cancel is
// dropped.
//
//	source:      --a---b-----------c--|
//	Timeout(5):  --a---b----#
//
// Take d longer than the source's longest regular silence: two or three times its heartbeat, and count the heartbeats,
// by filtering them after Timeout. [Works] does not count: yield a heartbeat, or set a read deadline in the handler of
// the ping. A source that sends no heartbeats and may be idle for hours is connected to anew every d; that loses
// nothing if it has a position. Many proxies close a connection that is quiet for a minute or so: ask for heartbeats
// more often than that.
//
// A value or an end that comes after exactly d may or may not be in time. Timeout starts no goroutine: the source runs
// on the caller's, and its panics reach the caller unchanged. Each run starts one timer before the source begins. On
// the system clock a value only moves the deadline; a timer that fires before the deadline is started again for the
// rest. On an injected clock each value starts a timer in place of the last one. A d that is not positive panics.
func (s Stream[T]) Timeout(d time.Duration) Stream[T] {
	s.require("Timeout")
	requirePeriod("Timeout: d", d)
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		timedOut := func() error { return timeoutError{d, nameFrom(ctx)} } // comparable: each call returns the same
		run, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var watch timer.Watchdog
		defer watch.Stop()
		watch.Start(ClockFrom(ctx), d, func() { cancel(timedOut()) })
		out := ending.NewConsumer(yield)
		stopped := false
		err := s(run, func(v T) bool {
			if stopped || !watch.Pause() {
				return false
			}
			if stopped = !out.Deliver(v) || ctx.Err() != nil; stopped {
				return false
			}
			watch.Resume()
			return true
		})
		if !watch.Stop() {
			late := timedOut()
			cancel(late) // the timer's goroutine may not have done it yet
			if context.Cause(run) == late {
				err = late
			}
		}
		return out.End(ctx, err)
	}
}
