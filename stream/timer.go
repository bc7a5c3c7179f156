package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Timer returns the stream of one value, the time, when d has passed since it was run; at once for d ≤ 0.
//
//	Timer(3): --> ---t|
//
// Time is that of the clock that ctx carries, see [WithClock].
func Timer(d time.Duration) Stream[time.Time] {
	return func(ctx context.Context, yield func(time.Time) bool) error {
		alarm := newAlarm(ctx)
		if err := alarm.Wait(ctx, d); err != nil {
			return err
		}
		if !yield(alarm.Now()) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// Interval returns the stream that yields the time at d, 2d, 3d … after it was run, and never ends. Ticks that come
// while the consumer is busy are dropped, not queued: it goes on with the next one, still at a multiple of d.
//
//	Interval(3):                  --> ---t--t--t--t--t--
//	the same, a consumer busy 4:  --> ---t-----t-----t--
//
// Time is that of the clock that ctx carries, see [WithClock]. A d that is not positive panics.
func Interval(d time.Duration) Stream[time.Time] {
	requirePeriod("Interval: d", d)
	return func(ctx context.Context, yield func(time.Time) bool) error {
		alarm := newAlarm(ctx)
		start := alarm.Now()
		wait := d
		for {
			if err := alarm.Wait(ctx, wait); err != nil {
				return err
			}
			now := alarm.Now()
			if !yield(now) {
				return nil
			}
			wait = untilTick(now.Sub(start), alarm.Now().Sub(start), d)
		}
	}
}

// untilTick returns how long it is, from the time now, to the next tick after the one of the time last, for ticks at
// the multiples of d; a tick that is due right now is not missed. The product may wrap around, the difference does not.
func untilTick(last, now, d time.Duration) time.Duration {
	missed := (now - 1) / d // ticks before now
	return max(last/d+1, missed+1)*d - now
}
