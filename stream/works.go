package stream

import (
	"context"
	"sync/atomic"
)

// Works reports to each retried stream around ctx that its attempt works although it has not delivered a value: it is
// connected and subscribed, or a heartbeat came. This ends an outage (retry.OnRecovered, the end of retry.OnOutage,
// retry.Log): later errors do not contain the failures before it. Works is not a value, so it does not count for
// Failure's Items, retry.ResetAfterItems, retry.BeforeFirstItem or a budget, and it does not restart retry.Limit.
//
// Call it in a source with the context that the source receives, each time there is a sign of life. It is cheap once
// the attempt has worked, and does nothing outside of an attempt, or after it. It may be called on any goroutine; the
// hooks are called on that goroutine, one at a time for a subscription. It has no effect on retry.Do, on
// operators.MapRetry, and on a Timeout, which sees values only: yield a heartbeat (DropHeartbeats), or set a read
// deadline in the handler of the ping.
func Works(ctx context.Context) {
	for {
		a, _ := ctx.Value(retriedKey{}).(*attemptContext)
		if a == nil || atomic.LoadUint32(&a.over) != 0 {
			return
		}
		if s := a.subscription; !s.Worked() {
			s.Works(&a.over)
		}
		ctx = a.parent()
	}
}

// DropHeartbeats drops the values that is reports, and calls Works for each of them. It belongs inside the open of
// operators.Resume, after a Timeout that uses the heartbeats to notice silence.
//
//	s                      --a--h--h--b--h--|
//	DropHeartbeats(is h)   --a--------b-----|
func (s Stream[T]) DropHeartbeats(is func(T) bool) Stream[T] {
	s.require("DropHeartbeats")
	requireFunc(is == nil, "DropHeartbeats: is")
	return func(ctx context.Context, yield func(T) bool) error {
		return s(ctx, func(v T) bool {
			if is(v) {
				Works(ctx)
				return true
			}
			return yield(v)
		})
	}
}

// retriedKey is the key under which the context of a retried stream's attempt returns itself.
type retriedKey struct{}
