package stream

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

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
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		alarm := newAlarm(scope.Context())
		defer alarm.Stop()
		in := handoff.NewReceiver[T](scope)
		in.Start(s)
		var last T
		waits := false
		for !out.Stopped() {
			select {
			case event := <-in.C():
				over, failed := event.Ended()
				if scope.Err() != nil {
					return failed
				}
				if over {
					if waits {
						out.Deliver(last)
					}
					return failed
				}
				last, waits = event.Value, true
				alarm.Set(d)
				event.From.Request()
			case <-alarm.C():
				alarm.Stop()
				if err := scope.Err(); err != nil {
					return err
				}
				v := last
				var zero T
				last, waits = zero, false
				out.Deliver(v)
			case <-scope.Context().Done():
				return nil
			}
		}
		return nil
	})
}
