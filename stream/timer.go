package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Timer yields one value, the time, when d has passed since the run began, or at once if d ≤ 0.
//
//	Timer(3): --> ---t|
func Timer(d time.Duration) Stream[time.Time] {
	return func(ctx context.Context, yield func(time.Time) bool) error {
		timer := newTimer(ctx)
		if err := timer.Wait(ctx, d); err != nil {
			return err
		}
		if !yield(timer.Now()) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// Interval yields the time at d, 2d, 3d … after the run began, and never ends. Ticks that come while the consumer is
// busy are dropped, not queued: the next value comes at the next multiple of d.
//
//	Interval(3):                  --> ---t--t--t--t--t--
//	the same, a consumer busy 4:  --> ---t-----t-----t--
//
// A d that is not positive panics.
func Interval(d time.Duration) Stream[time.Time] {
	requirePeriod("Interval: d", d)
	return func(ctx context.Context, yield func(time.Time) bool) error {
		timer := newTimer(ctx)
		start := timer.Now()
		wait := d
		for {
			if err := timer.Wait(ctx, wait); err != nil {
				return err
			}
			now := timer.Now()
			if !yield(now) {
				return nil
			}
			wait = untilTick(now.Sub(start), timer.Now().Sub(start), d)
		}
	}
}

// untilTick returns how long it is from now to the next tick after last, for ticks at the multiples of d. A tick that
// is due right now is not missed. The product may overflow; the difference is still correct.
func untilTick(last, now, d time.Duration) time.Duration {
	missed := (now - 1) / d // ticks before now
	return max(last/d+1, missed+1)*d - now
}
