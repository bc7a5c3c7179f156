package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

func TestTimeout_ToTheFirstValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Never[int]().Timeout(5*ms), nil, 5*ms, stream.ErrTimeout)
	})
}

func TestTimeout_BetweenValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{3 * ms, 1}, ev{6 * ms, 2}, ev{12 * ms, 3})
		expectTimes(t, src.Timeout(5*ms), []ev{{3 * ms, 1}, {6 * ms, 2}}, 11*ms, stream.ErrTimeout)
	})
}

func TestTimeout_ToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := stream.Of(1).Concat(at[int]().Merge(at(ev{9 * ms, 2})))
		expectTimes(t, src.Timeout(5*ms), []ev{{0, 1}}, 5*ms, stream.ErrTimeout)
	})
}

func TestTimeout_NotWhenTheSourceIsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{4 * ms, 1}, ev{8 * ms, 2}, ev{12 * ms, 3})
		expectTimes(t, src.Timeout(5*ms), []ev{{4 * ms, 1}, {8 * ms, 2}, {12 * ms, 3}}, 12*ms, nil)
	})
}

func TestTimeout_TheConsumersTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream.Of(1, 2, 3).Delay(4 * ms).Timeout(5 * ms).Tap(func(int) { time.Sleep(time.Hour) })
		expectTimes(t, s, []ev{{time.Hour + 4*ms, 1}, {2*time.Hour + 8*ms, 2}, {3*time.Hour + 12*ms, 3}}, 3*time.Hour+12*ms, nil)
	})
}

func TestTimeout_CancelsTheSourceWithItsErrorAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(2 * ms) // cleaning up
			return errBoom
		})
		_, at, err := timeline(t.Context(), src.Timeout(5*ms))
		if at != 7*ms || err == nil || err.Error() != "stream: timeout: nothing came for 5ms" {
			t.Errorf("ended at %v with %v", at, err)
		}
		if cause != err {
			t.Errorf("the source saw the cause %v", cause)
		}
	})
}

func TestTimeout_AValueOfACancelledSourceIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := true
		src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			<-ctx.Done()
			more = yield(1)
			return nil
		})
		expectTimes(t, src.Timeout(5*ms), nil, 5*ms, stream.ErrTimeout)
		if more {
			t.Error("yield returned true after the timeout")
		}
	})
}

func TestTimeout_CancelledWhileTheSourceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 6*ms, errCause)
		defer cancel()
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			<-ctx.Done()
			time.Sleep(2 * ms)
			return nil
		})
		_, at, err := timeline(ctx, src.Timeout(5*ms))
		if at != 7*ms || !errors.Is(err, errCause) || !errors.Is(err, stream.ErrTimeout) {
			t.Errorf("ended at %v with %v", at, err)
		}
	})
}

func TestTimeout_Retried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		src := stream.Defer(func(context.Context) stream.Stream[int] {
			if runs++; runs < 3 {
				return at(ev{1 * ms, runs}, ev{time.Hour, 0})
			}
			return stream.Of(runs)
		})
		expectTimes(t, src.Timeout(5*ms).Retry(5), []ev{{1 * ms, 1}, {7 * ms, 2}, {12 * ms, 3}}, 12*ms, nil)
	})
}

func TestTimeout_ASlowSubscriberBesideAFastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream.Of(1, 2).Delay(4 * ms).Timeout(5 * ms).Retry(1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			expectTimes(t, s.Tap(func(int) { time.Sleep(time.Minute) }), []ev{{time.Minute + 4*ms, 1}, {2*time.Minute + 8*ms, 2}}, 2*time.Minute+8*ms, nil)
		}()
		expectTimes(t, s, []ev{{4 * ms, 1}, {8 * ms, 2}}, 8*ms, nil)
		<-done
	})
}
