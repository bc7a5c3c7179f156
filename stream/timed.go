package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
)

// Timeout returns the same stream, but one that fails when its source takes longer than d to its first value, from one
// value to the next, or to its end. The time that the consumer takes for a value does not count. The error matches
// [ErrTimeout] and names d. The source's context is cancelled with the same error as its cause, and the stream returns
// when the source has: a source that does not heed its context holds it up.
//
//	source:      --a---b-----------c--|
//	Timeout(5):  --a---b----#
//
// Something that comes exactly d later may be in time or not. The source runs on a goroutine of its own; time is that
// of the clock that ctx carries, see [WithClock]. A d that is not positive panics.
func (s Stream[T]) Timeout(d time.Duration) Stream[T] {
	s.require("Timeout")
	requirePeriod("Timeout: d", d)
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		alarm := newAlarm(ctx)
		defer alarm.Stop()
		return relay.Run(ctx, func(scope *relay.Scope) error {
			in := relay.NewInlet[T](scope)
			alarm.Set(d)
			source := in.Start(s)
			for {
				select {
				case event := <-in.C():
					alarm.Stop()
					if over, err := event.Ended(); over {
						return ending.Under(ctx, err)
					}
					if err := scope.Err(); err != nil {
						return err
					}
					if !yield(event.Value) {
						return nil
					}
					alarm.Set(d)
					source.Resume()
				case <-alarm.C():
					err := timeoutError{d}
					source.Stop(err)
					return ending.Under(ctx, err)
				case <-ctx.Done():
					return ending.Of(ctx)
				}
			}
		})
	}
}

// Delay returns the stream of the same values, each held for d before it is delivered; the source waits meanwhile, so
// that values come at least d apart. An error and the end are not delayed. Delay(0) is the stream itself; a negative d
// panics.
//
// ReactiveX's delay shifts the values in time and keeps their distances. Where values are closer than d that is another
// thing: operators.FlatMap from each v to Of(v).Delay(d), with enough concurrency, does it.
//
//	source:                   a--b--c|
//	Delay(2):                 --a----b----c|
//
// It starts no goroutine. Time is that of the clock that ctx carries, see [WithClock].
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

// Debounce returns the stream of those values that are followed by d of silence, each delivered then. A value that
// waits when the source ends or fails is delivered before that end or error, so that none is lost; this differs from
// RxJS and RxJava, which drop it at an error. When ctx ends it is dropped. Debounce(0) is the stream itself; a
// negative d panics.
//
//	source:       -a-b-c--------d---e|
//	Debounce(3):  --------c--------d-(e|)
//
// A value that comes exactly d after the one before may be in time to replace it or not. While the consumer has a value
// in hand, the source can go on to its next value and waits there. It runs on a goroutine of its own; time is that of
// the clock that ctx carries, see [WithClock].
func (s Stream[T]) Debounce(d time.Duration) Stream[T] {
	s.require("Debounce")
	requireWait("Debounce: d", d)
	if d == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		alarm := newAlarm(ctx)
		defer alarm.Stop()
		return relay.Run(ctx, func(scope *relay.Scope) error {
			in := relay.NewInlet[T](scope)
			in.Start(s)
			var last T
			waits := false
			for {
				select {
				case event := <-in.C():
					over, failed := event.Ended()
					if err := scope.Err(); err != nil {
						return ending.Under(ctx, failed)
					}
					if over {
						if waits && !yield(last) {
							return nil
						}
						return ending.Under(ctx, failed)
					}
					last, waits = event.Value, true
					alarm.Set(d)
					event.Source.Resume()
				case <-alarm.C():
					alarm.Stop()
					if err := scope.Err(); err != nil {
						return err
					}
					v := last
					var zero T
					last, waits = zero, false
					if !yield(v) {
						return nil
					}
				case <-ctx.Done():
					return ending.Of(ctx)
				}
			}
		})
	}
}

// Throttle returns the stream of the first value, then of the first value that comes d or more after the last one
// delivered, and so on; the others are dropped (ReactiveX: throttleFirst). A clock that was set back to before the last
// one starts anew. Throttle(0) is the stream itself; a negative d panics.
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
