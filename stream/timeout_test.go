package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

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

// What a source does when the timeout has struck is dropped: it ends with ErrTimeout, whatever the source says.
func TestTimeout_WhateverTheSourceDoesThen(t *testing.T) {
	for name, source := range map[string]stream.Stream[int]{
		"ends well":          func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return nil },
		"fails":              func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return errBoom },
		"is late, ends well": func(context.Context, func(int) bool) error { time.Sleep(9 * ms); return nil },
		"is late, yields on": func(_ context.Context, yield func(int) bool) error {
			time.Sleep(9 * ms)
			for i := range 3 {
				if yield(i) {
					return errors.New("yield returned true after the timeout")
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, at, err := timeline(t.Context(), source.Timeout(5*ms))
				if want := "stream: timeout: nothing came for 5ms"; err == nil || err.Error() != want || !errors.Is(err, stream.ErrTimeout) {
					t.Errorf("got %v, want %s", err, want)
				}
				if at != 5*ms && at != 9*ms {
					t.Errorf("ended at %v", at)
				}
			})
		})
	}
}

// A subscriber's cancellation that comes first is the end, however long the source takes to clean up.
func TestTimeout_NotAfterACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*ms, errCause)
		defer cancel()
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			<-ctx.Done()
			time.Sleep(time.Hour)
			return errBoom
		})
		_, _, err := timeline(ctx, src.Timeout(5*ms))
		if !errors.Is(err, errCause) || errors.Is(err, stream.ErrTimeout) {
			t.Error(err)
		}
	})
}

func TestTimeout_InATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, outer := range []time.Duration{4 * ms, 5 * ms, 6 * ms} {
			s := stream.Of(1).Concat(stream.Never[int]()).Timeout(5 * ms).Timeout(outer)
			expectTimes(t, s, []ev{{0, 1}}, min(outer, 5*ms), stream.ErrTimeout)
		}
	})
}

// A timer that fires while the consumer processes a value is started again when it is done, on an injected clock too.
func TestTimeout_OnAnInjectedClockTheConsumersTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		ctx := stream.WithClock(t.Context(), mock)
		start := mock.Now()
		var at time.Duration
		var err error
		done := make(chan struct{})
		busy := make(chan struct{})
		go func() {
			defer close(done)
			err = stream.Of(1).Concat(stream.Never[int]()).Timeout(5*ms).ForEach(ctx, func(int) { <-busy })
			at = mock.Now().Sub(start)
		}()
		for i := range 20 {
			synctest.Wait()
			if i == 11 {
				close(busy)
				synctest.Wait()
			}
			mock.Add(ms)
		}
		<-done
		if at != 16*ms || !errors.Is(err, stream.ErrTimeout) {
			t.Errorf("ended at %v with %v, want 16ms", at, err)
		}
	})
}

// The source runs on the caller's goroutine: what it panics with is what the caller sees.
func TestTimeout_APanicOfTheSourcePassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if v := recover(); v != errBoom {
				t.Errorf("recovered %v, want the source's own %v", v, errBoom)
			}
		}()
		src := stream.Stream[int](func(context.Context, func(int) bool) error { panic(errBoom) })
		_ = src.Timeout(5*ms).ForEach(t.Context(), func(int) {})
	})
}

// The values come in order and without a gap up to the timeout, at whatever moment it strikes.
func TestTimeout_AtAnyMoment(t *testing.T) {
	for i := range 500 {
		n := 0
		src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			for v := range 50 {
				if !yield(v) {
					return nil
				}
			}
			return nil
		})
		err := src.Timeout(time.Duration(1+i*10)).ForEach(t.Context(), func(v int) {
			if v != n {
				t.Fatalf("got %d, want %d", v, n)
			}
			n++
		})
		if err == nil && n != 50 || err != nil && !errors.Is(err, stream.ErrTimeout) {
			t.Fatalf("%d values, %v", n, err)
		}
	}
}

// A value that is refused because of the timeout makes the stream fail, also if the source ends before its context. A
// value in time says nothing about the stream: its end may still take too long.
func TestTimeout_ARefusedValueIsAFailure(t *testing.T) {
	for i := range 4000 {
		took := 45*time.Microsecond + time.Duration(i%100)*300*time.Nanosecond // until a while after the timeout
		refused := false
		src := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			for start := time.Now(); time.Since(start) < took; {
			}
			refused = !yield(1)
			return nil
		})
		if err := src.Timeout(50*time.Microsecond).ForEach(t.Context(), func(int) {}); refused && !errors.Is(err, stream.ErrTimeout) {
			t.Fatalf("the value was refused, but the stream returned %v", err)
		}
	}
}
