package stream

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
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
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		alarm := newAlarm(scope.Context())
		defer alarm.Stop()
		in := handoff.NewReceiver[T](scope)
		alarm.Set(d)
		source := in.Start(s)
		for {
			select {
			case event := <-in.C():
				alarm.Stop()
				if over, err := event.Ended(); over {
					return err
				}
				if err := scope.Err(); err != nil {
					return err
				}
				if !out.Deliver(event.Value) {
					return nil
				}
				alarm.Set(d)
				source.Request()
			case <-alarm.C():
				err := timeoutError{d}
				source.Cancel(err)
				return err
			case <-scope.Context().Done():
				return nil
			}
		}
	})
}
