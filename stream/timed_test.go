package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

type ev = event[int]

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

func TestDebounce_TheLastBeforeASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{3 * ms, 2}, ev{5 * ms, 3}, ev{14 * ms, 4}, ev{18 * ms, 5})
		expectTimes(t, src.Debounce(3*ms), []ev{{8 * ms, 3}, {17 * ms, 4}, {18 * ms, 5}}, 18*ms, nil)
	})
}

func TestDebounce_AtTheEndTheValueComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2, 3).Debounce(time.Hour), []ev{{0, 3}}, 0, nil)
	})
}

func TestDebounce_AtAnErrorTheValueComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2, 3).Concat(stream.Fail[int](errBoom)).Debounce(time.Hour), []ev{{0, 3}}, 0, errBoom)
	})
}

func TestDebounce_ACancelDropsTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*ms, errCause)
		defer cancel()
		got, at, err := timeline(ctx, at(ev{1 * ms, 1}, ev{time.Hour, 2}).Debounce(3*ms))
		if len(got) != 0 || at != 2*ms || !endedBy(ctx, err) {
			t.Errorf("got %v, ended at %v with %v", got, at, err)
		}
	})
}

func TestDebounce_AStopWithTheValueThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream.Of(1).Concat(stream.Fail[int](errBoom)).Debounce(time.Hour)
		if err := s(t.Context(), func(int) bool { return false }); err != nil {
			t.Error(err)
		}
	})
}

func TestDebounce_ASteadyFlowDeliversNothingUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Range(0, 100).Delay(2*ms).Debounce(3*ms), []ev{{200 * ms, 99}}, 200*ms, nil)
	})
}

func TestDebounce_Zero(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).Debounce(0), []int{1, 2, 3}, nil)
}

func TestDebounce_Retried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{10 * ms, 2}).MustNotEnd(errBoom)
		expectTimes(t, src.Debounce(3*ms).Retry(1), []ev{{4 * ms, 1}, {10 * ms, 2}, {14 * ms, 1}, {20 * ms, 2}}, 20*ms, errBoom)
	})
}

func TestThrottle_TheFirstOfEachWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{3 * ms, 2}, ev{5 * ms, 3}, ev{9 * ms, 4}, ev{12 * ms, 5}, ev{15 * ms, 6})
		expectTimes(t, src.Throttle(5*ms), []ev{{1 * ms, 1}, {9 * ms, 4}, {15 * ms, 6}}, 15*ms, nil)
	})
}

func TestThrottle_AValueAtTheEndOfTheWindowPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, at(ev{0, 1}, ev{5 * ms, 2}, ev{10 * ms, 3}).Throttle(5*ms), []ev{{0, 1}, {5 * ms, 2}, {10 * ms, 3}}, 10*ms, nil)
	})
}

// setClock is a clock that shows what it was set to.
type setClock struct {
	stream.Clock
	now time.Time
}

func (c *setClock) Now() time.Time { return c.now }

func TestThrottle_AClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	start := time.Unix(1e9, 0)
	c := &setClock{now: start}
	var got []int
	s := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		for i, s := range []int{0, 4, 5, -3600, -3596, -3595, 3600} { // seconds
			c.now = start.Add(time.Duration(s) * time.Second)
			yield(i)
		}
		return nil
	})
	err := s.Throttle(5*time.Second).ForEach(stream.WithClock(t.Context(), c), func(v int) { got = append(got, v) })
	if want := []int{0, 2, 3, 5, 6}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestThrottle_Zero(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).Throttle(0), []int{1, 2, 3}, nil)
}

func TestThrottle_EachRunHasItsOwnWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2).Throttle(time.Hour).Repeat(2), []ev{{0, 1}, {0, 1}}, 0, nil)
	})
}

func TestTimer(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 1, 5 * ms, 1000 * time.Hour} {
		bubble(t, d.String(), func(t *testing.T) {
			when := time.Now().Add(max(d, 0))
			got, at, err := timeline(t.Context(), stream.Timer(d))
			if len(got) != 1 || got[0].at != max(d, 0) || !got[0].v.Equal(when) || at != max(d, 0) || err != nil {
				t.Errorf("got %v, ended at %v with %v", got, at, err)
			}
		})
	}
}

func TestTimer_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*ms, errCause)
		defer cancel()
		if got, at, err := timeline(ctx, stream.Timer(5*ms)); len(got) != 0 || at != 2*ms || !endedBy(ctx, err) {
			t.Errorf("got %v, ended at %v with %v", got, at, err)
		}
	})
}

func TestTimer_Stopped(t *testing.T) {
	expect(t, marks(stream.Timer(0)).Take(1), []int{1}, nil)
}

func TestInterval_Ticks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := stream.Stream[time.Duration](func(ctx context.Context, yield func(time.Duration) bool) error {
			return stream.Interval(3*ms).Take(3)(ctx, func(now time.Time) bool { return yield(now.Sub(start)) })
		})
		expectTimes(t, s, []event[time.Duration]{{3 * ms, 3 * ms}, {6 * ms, 6 * ms}, {9 * ms, 9 * ms}}, 9*ms, nil)
	})
}

func TestInterval_TicksThatASlowConsumerMissesAreDropped(t *testing.T) {
	for name, test := range map[string]struct {
		busy time.Duration
		want []time.Duration
	}{
		"busy less than a period":    {2 * ms, []time.Duration{3 * ms, 6 * ms, 9 * ms, 12 * ms}},
		"busy exactly a period":      {3 * ms, []time.Duration{3 * ms, 6 * ms, 9 * ms, 12 * ms}},
		"busy more than a period":    {4 * ms, []time.Duration{3 * ms, 9 * ms, 15 * ms, 21 * ms}},
		"busy exactly two periods":   {6 * ms, []time.Duration{3 * ms, 9 * ms, 15 * ms, 21 * ms}},
		"busy for two and a bit":     {7 * ms, []time.Duration{3 * ms, 12 * ms, 21 * ms, 30 * ms}},
		"busy for very many of them": {3000*ms + 1, []time.Duration{3 * ms, 3006 * ms, 6009 * ms, 9012 * ms}},
	} {
		bubble(t, name, func(t *testing.T) {
			start := time.Now()
			var got []time.Duration
			_ = stream.Interval(3*ms)(t.Context(), func(now time.Time) bool {
				got = append(got, now.Sub(start))
				time.Sleep(test.busy)
				return len(got) < 4
			})
			for i := range test.want {
				if got[i] != test.want[i] {
					t.Fatalf("ticks at %v, want %v", got, test.want)
				}
			}
		})
	}
}

func TestInterval_OfALongPeriodDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 100 * 365 * 24 * time.Hour
		expectTimes(t, marks(stream.Interval(long).Take(2)), []ev{{long, 1}, {2 * long, 1}}, 2*long, nil)
	})
}

// The third tick would come at 300 years, which no Duration holds.
func TestInterval_TicksBeyondTheLargestDuration(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	clock := &leap{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	start := clock.now
	var last time.Duration
	err := stream.Interval(century).Take(3).ForEach(stream.WithClock(t.Context(), clock), func(now time.Time) {
		if at := now.Sub(start); at < last+century/2 {
			t.Errorf("a tick at %v after one at %v", at, last)
		} else {
			last = at
		}
	})
	if err != nil {
		t.Error(err)
	}
}
