package stream_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/retrywhen/retrywhen/stream"
)

func TestDelay_HoldsEachValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2, 3).Delay(5*ms), []ev{{5 * ms, 1}, {10 * ms, 2}, {15 * ms, 3}}, 15*ms, nil)
	})
}

func TestDelay_TheEndAndAnErrorAreNotDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1).Concat(stream.Fail[int](errBoom)).Delay(5*ms), []ev{{5 * ms, 1}}, 5*ms, errBoom)
		expectTimes(t, stream.Empty[int]().Delay(5*ms), nil, 0, nil)
	})
}

func TestDelay_ZeroIsTheStreamItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2).Delay(0), []ev{{0, 1}, {0, 2}}, 0, nil)
	})
}

func TestDelay_CancelledWhileItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 7*ms, errCause)
		defer cancel()
		got, at, err := timeline(ctx, stream.Of(1, 2, 3).Delay(5*ms))
		if len(got) != 1 || at != 7*ms || !endedBy(ctx, err) {
			t.Errorf("got %v, ended at %v with %v", got, at, err)
		}
	})
}

// One nanosecond is a delay.
func TestDelay_OfANanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2).Delay(1), []ev{{1, 1}, {2, 2}}, 2, nil)
		expectTimes(t, stream.Of(1, 2).TimeShift(1, 9), []ev{{1, 1}, {1, 2}}, 1, nil)
		expectTimes(t, stream.Of(1, 2).Concat(stream.Never[int]()).Debounce(1).Take(1), []ev{{1, 2}}, 1, nil)
	})
}
