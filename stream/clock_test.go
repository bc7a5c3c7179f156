package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

func TestClockFrom_TheSystemsWithoutAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stream.ClockFrom(t.Context())
		if !c.Now().Equal(time.Now()) {
			t.Error("another time than the system's")
		}
		fired := make(chan time.Time, 1)
		c.AfterFunc(time.Second, func() { fired <- time.Now() })
		start := time.Now()
		if at := (<-fired).Sub(start); at != time.Second {
			t.Errorf("fired after %v", at)
		}
		if !c.AfterFunc(time.Second, func() {}).Stop() {
			t.Error("Stop of a timer that waits is false")
		}
	})
}

func TestWithClock_AClockComesBackAsItIs(t *testing.T) {
	c := stream.ClockFrom(context.Background())
	if stream.ClockFrom(stream.WithClock(t.Context(), c)) != c {
		t.Error("a Clock was wrapped")
	}
	mock := clock.NewMock()
	ctx := stream.WithClock(stream.WithClock(t.Context(), c), mock)
	if got := stream.ClockFrom(ctx); !got.Now().Equal(mock.Now()) {
		t.Error("the innermost clock does not win")
	}
}

// Every time-based operator, run on a mock clock that is moved a millisecond at a time; the system's clock stands
// still meanwhile.
func TestWithClock_EveryTimedOperator(t *testing.T) {
	slow := func(values ...int) stream.Stream[int] { return stream.FromSlice(values).Delay(4 * ms) }
	for name, test := range map[string]struct {
		s    stream.Stream[int]
		want []ev
		at   time.Duration
		end  error
	}{
		"Timer":           {s: marks(stream.Timer(5 * ms)), want: []ev{{5 * ms, 1}}, at: 5 * ms},
		"Interval":        {s: marks(stream.Interval(3 * ms).Take(2)), want: []ev{{3 * ms, 1}, {6 * ms, 1}}, at: 6 * ms},
		"Delay":           {s: slow(1, 2), want: []ev{{4 * ms, 1}, {8 * ms, 2}}, at: 8 * ms},
		"Timeout":         {s: stream.Of(1).Concat(stream.Never[int]()).Timeout(5 * ms), want: []ev{{0, 1}}, at: 5 * ms, end: stream.ErrTimeout},
		"Timeout in time": {s: slow(1, 2).Timeout(5 * ms), want: []ev{{4 * ms, 1}, {8 * ms, 2}}, at: 8 * ms},
		"Debounce":        {s: slow(1, 2).Debounce(3 * ms), want: []ev{{7 * ms, 1}, {8 * ms, 2}}, at: 8 * ms},
		"Throttle":        {s: slow(1, 2, 3).Throttle(5 * ms), want: []ev{{4 * ms, 1}, {12 * ms, 3}}, at: 12 * ms},
		"ThrottleLatest":  {s: slow(1, 2, 3).ThrottleLatest(6 * ms), want: []ev{{4 * ms, 1}, {10 * ms, 2}, {12 * ms, 3}}, at: 12 * ms},
		"TimeShift":       {s: slow(1, 2).TimeShift(5*ms, 9), want: []ev{{9 * ms, 1}, {13 * ms, 2}}, at: 13 * ms},
		"nested":          {s: slow(1).Merge(slow(2, 3).Skip(1)).Timeout(9 * ms).Buffer(1), want: []ev{{4 * ms, 1}, {8 * ms, 3}}, at: 8 * ms},
	} {
		bubble(t, name, func(t *testing.T) {
			mock := clock.NewMock()
			ctx := stream.WithClock(t.Context(), mock)
			start := mock.Now()
			var got []ev
			var at time.Duration
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				err = test.s.ForEach(ctx, func(v int) { got = append(got, ev{mock.Now().Sub(start), v}) })
				at = mock.Now().Sub(start)
			}()
			system := time.Now()
			for range 20 {
				synctest.Wait()
				mock.Add(ms)
			}
			<-done
			if !slices.Equal(got, test.want) || at != test.at || !errors.Is(err, test.end) {
				t.Errorf("got %v, ended at %v with %v\nwant %v, ended at %v with %v", got, at, err, test.want, test.at, test.end)
			}
			// Mock.Add sleeps a little on the system's clock, which the streams must not.
			if d := time.Since(system); d > time.Second {
				t.Errorf("it took %v of the system's time", d)
			}
		})
	}
}
