package stream

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// ThrottleLatest is Throttle that keeps the latest of the values in between: it returns the stream of the first value,
// then of the latest one whenever d has passed since a delivery. If none has come by then, the next one is delivered as
// it comes. (RxJava: throttleLatest; RxJS: throttleTime with leading and trailing.) ThrottleLatest(0) is the stream
// itself; a negative d panics.
//
//	source:             -a-b-c---------d-e-|
//	ThrottleLatest(4):  -a---c---------d---(e|)
//
// A value that waits when the source ends or fails is delivered before that end or error, so that none is lost; RxJS
// delivers it when d has passed, and ends then, and drops it at an error. When ctx ends it is dropped.
//
// A value that comes exactly d after a delivery may replace the one that waits or not. While the consumer has a value
// in hand, the source can go on to its next value and waits there. It runs on a goroutine of its own; time is that of
// the clock that ctx carries, see [WithClock].
func (s Stream[T]) ThrottleLatest(d time.Duration) Stream[T] {
	s.require("ThrottleLatest")
	requireWait("ThrottleLatest: d", d)
	if d == 0 {
		return s
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		window := newAlarm(scope.Context()) // since a delivery; when it is not set the next value passes
		defer window.Stop()
		in := handoff.NewReceiver[T](scope)
		in.Start(s)
		var latest T // that has come in the window
		waits := false
		deliver := func(v T) {
			var zero T
			latest, waits = zero, false
			window.Set(d)
			out.Deliver(v)
		}
		deliverWaiting := func() {
			if waits && scope.Err() == nil {
				deliver(latest)
			}
		}
		for !out.Stopped() && scope.Err() == nil {
			event, due := eventOr(window.C(), scope, in)
			if due {
				window.Stop()
				deliverWaiting()
				continue
			}
			if event.From == nil {
				break
			}
			if over, failed := event.Ended(); over {
				deliverWaiting()
				return failed
			}
			if scope.Err() != nil {
				break
			}
			event.From.Request()
			if latest, waits = event.Value, true; window.C() == nil {
				deliver(latest)
			}
		}
		return nil
	})
}

// eventOr returns the next event, or true when due is ready, also if there is an event as well. When the context ends
// it returns neither.
func eventOr[T any](due <-chan time.Time, scope *handoff.Scope, in *handoff.Receiver[T]) (event handoff.Event[T], isDue bool) {
	select {
	case <-due:
		return event, true
	default:
	}
	select {
	case <-due:
		return event, true
	case event = <-in.C():
	case <-scope.Context().Done():
	}
	return event, false
}
