package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/operators"
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
		"Timer":           {s: operators.Map(stream.Timer(5*ms), sinceMocked), want: []ev{{5 * ms, 5}}, at: 5 * ms},
		"Interval":        {s: operators.Map(stream.Interval(3*ms), sinceMocked).Take(2), want: []ev{{3 * ms, 3}, {6 * ms, 6}}, at: 6 * ms},
		"RetryWhen":       {s: slow(1).MustNotEnd(errBoom).RetryWhen(noteLasted), want: []ev{{4 * ms, 1}}, at: 4 * ms, end: lasted(4 * ms)},
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

// sinceMocked returns how many milliseconds after the first instant of a mock clock now is.
func sinceMocked(now time.Time) int { return int(now.Sub(clock.NewMock().Now()) / ms) }

// lasted is the error of noteLasted.
type lasted time.Duration

func (d lasted) Error() string { return time.Duration(d).String() }

// noteLasted fails with how long the attempt lasted.
var noteLasted = handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return operators.TryMap(failures, func(_ context.Context, f stream.Failure) (stream.Failure, error) {
		return f, lasted(f.Lasted)
	})
})

// positive is a clock that reports waits of no time.
type positive struct {
	stream.Clock
	t *testing.T
}

func (c positive) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if d <= 0 {
		c.t.Errorf("AfterFunc(%v)", d)
	}
	return c.Clock.AfterFunc(d, f)
}

func TestClock_AfterFuncOnlyForTimeToCome(t *testing.T) {
	busy := func(d time.Duration) func(int) { return func(int) { time.Sleep(d) } }
	for name, s := range map[string]stream.Stream[int]{
		"Timer of 0":            marks(stream.Timer(0)),
		"Timer of less":         marks(stream.Timer(-ms)),
		"a tick that is due":    marks(stream.Interval(ms)).Tap(busy(ms)).Take(3),
		"ticks that are over":   marks(stream.Interval(ms)).Tap(busy(5 * ms)).Take(3),
		"values whose time has": stream.Of(1, 2, 3).TimeShift(ms, 3).Tap(busy(5 * ms)),
		"a busy consumer":       stream.Of(1, 2, 3).ThrottleLatest(ms).Tap(busy(5 * ms)).Debounce(ms).Timeout(time.Minute),
	} {
		bubble(t, name, func(t *testing.T) {
			ctx := stream.WithClock(t.Context(), positive{stream.ClockFrom(t.Context()), t})
			if err := s.ForEach(ctx, func(int) {}); err != nil {
				t.Error(err)
			}
		})
	}
}
