package stream

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// ThrottleLatest yields the first value, and then, each time d has passed since a delivery began, the latest value that
// came meanwhile. If none came, it delivers the next one as it comes. The time that the consumer takes counts: if it is
// d or more, the latest value is delivered as soon as the consumer is done. (RxJava: throttleLatest; RxJS: throttleTime
// with leading and trailing.) ThrottleLatest(0) is the stream itself.
//
//	source:             -a-b-c---------d-e-|
//	ThrottleLatest(4):  -a---c---------d---(e|)
//
// A value that waits when the source ends or fails is delivered before the end or the error, so none is lost. RxJS
// delivers it when d has passed and ends then, and drops it at an error. When ctx ends, it is dropped.
//
// A value that comes exactly d after a delivery may or may not replace the one that waits. While the consumer processes
// a value, the source can run to its next value and waits there. The source runs on its own goroutine.
func (s Stream[T]) ThrottleLatest(d time.Duration) Stream[T] {
	s.require("ThrottleLatest")
	requireWait("ThrottleLatest: d", d)
	if d == 0 {
		return s
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		window := newTimer(scope.Context()) // runs since a delivery; when it is not set, the next value is delivered
		defer window.Stop()
		in := handoff.NewReceiver[T](scope)
		in.Start(s)
		var latest T // the latest value of the window
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
			select {
			case <-window.C():
				window.Stop()
				deliverWaiting()
				continue
			default:
			}
			event, ok := in.Take()
			if !ok {
				select {
				case <-window.C():
					window.Stop()
					deliverWaiting()
				case <-in.C():
				case <-scope.Context().Done():
				}
				continue
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
