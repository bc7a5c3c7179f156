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
