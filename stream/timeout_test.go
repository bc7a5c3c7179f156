package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestTimeout_CancelsTheSourceWithItsErrorAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		src := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(2 * ms) // cleaning up
			return errBoom
		})
		start := time.Now()
		_, err := src.Timeout(5 * ms).Collect(t.Context())
		if at := time.Since(start); at != 7*ms || err == nil || err.Error() != "stream: timeout: nothing came for 5ms" {
			t.Errorf("ended at %v with %v", at, err)
		}
		if cause != err {
			t.Errorf("the source saw the cause %v", cause)
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
		start := time.Now()
		_, err := src.Timeout(5 * ms).Collect(ctx)
		if at := time.Since(start); at != 7*ms || !errors.Is(err, errCause) || !errors.Is(err, stream.ErrTimeout) {
			t.Errorf("ended at %v with %v", at, err)
		}
	})
}

// What a source does when the timeout has struck is dropped: it ends with ErrTimeout, whatever the source says.
func TestTimeout_WhateverTheSourceDoesThen(t *testing.T) {
	refused := func(yield func(int) bool) error {
		for i := range 3 {
			if yield(i) {
				return errors.New("yield returned true after the timeout")
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		source stream.Stream[int]
		want   string
	}{
		"ends well":          {func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return nil }, "-----#"},
		"fails":              {func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return errBoom }, "-----#"},
		"yields on":          {func(ctx context.Context, yield func(int) bool) error { <-ctx.Done(); return refused(yield) }, "-----#"},
		"is late, ends well": {func(context.Context, func(int) bool) error { time.Sleep(9 * ms); return nil }, "---------#"},
		"is late, yields on": {func(_ context.Context, yield func(int) bool) error { time.Sleep(9 * ms); return refused(yield) }, "---------#"},
	} {
		struck := func(err error) error {
			if !errors.Is(err, stream.ErrTimeout) || err.Error() != "stream: timeout: nothing came for 5ms" {
				t.Errorf("%s: got %v", name, err)
			}
			return err
		}
		expectFlow(t, name, func() stream.Stream[int] { return operators.MapErr(c.source.Timeout(5*ms), struck) }, c.want, stream.ErrTimeout)
	}
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

// A Timeout sees values only: a heartbeat that is yielded is one, Works is none.
func TestTimeout_WorksDoesNotFeedIt(t *testing.T) {
	for _, yields := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var pinged stream.Stream[int] = func(ctx context.Context, yield func(int) bool) error {
				for range 10 {
					select {
					case <-time.After(3 * time.Second):
					case <-ctx.Done():
						return context.Cause(ctx)
					}
					if stream.Works(ctx); yields && !yield(0) {
						return nil
					}
				}
				return nil
			}
			err := pinged.Timeout(5*time.Second).DropHeartbeats(func(int) bool { return true }).ForEach(t.Context(), func(int) {})
			if took := time.Since(start); yields && (err != nil || took != 30*time.Second) || !yields && (!errors.Is(err, stream.ErrTimeout) || took != 5*time.Second) {
				t.Errorf("yields %v: %v after %v", yields, err, took)
			}
		})
	}
}
