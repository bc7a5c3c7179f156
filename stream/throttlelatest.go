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
		return deliverLatest(scope, out, s, d, true)
	})
}

// deliverLatest runs Debounce, in which each value starts a wait of d, or ThrottleLatest, in which each delivery does
// and a value that comes while nothing waits is delivered.
func deliverLatest[T any](scope *handoff.Scope, out *ending.Consumer[T], s Stream[T], d time.Duration, throttle bool) error {
	wait := newTimer(scope.Context())
	defer wait.Stop()
	in := handoff.NewReceiver[T](scope)
	in.Start(s)
	var latest T
	some := false
	deliver := func() {
		if !some || scope.Err() != nil {
			return
		}
		v := latest
		var zero T
		latest, some = zero, false
		if throttle {
			wait.Set(d)
		}
		out.Deliver(v)
	}
	for !out.Stopped() {
		event, ok, err := in.NextOr(scope.Context(), wait.C(), nil)
		if err != nil {
			return err
		}
		if !ok {
			wait.Stop()
			deliver()
			continue
		}
		if ended, failure := event.Ended(); ended {
			deliver()
			return failure
		}
		latest, some = event.Value, true
		if !throttle {
			wait.Set(d)
		}
		event.From.Request()
		if wait.C() == nil {
			deliver()
		}
	}
	return nil
}
