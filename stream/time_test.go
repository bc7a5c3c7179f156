package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestTimer(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 1, 5 * ms, 1000 * time.Hour} {
		bubble(t, d.String(), func(t *testing.T) {
			when := time.Now().Add(max(d, 0))
			err := stream.Timer(d).ForEach(t.Context(), func(v time.Time) {
				if !v.Equal(when) || !time.Now().Equal(when) {
					t.Errorf("got %v at %v", v, time.Now())
				}
			})
			if err != nil || !time.Now().Equal(when) {
				t.Errorf("ended at %v with %v", time.Now(), err)
			}
		})
	}
}

func TestInterval_TicksThatASlowConsumerMissesAreDropped(t *testing.T) {
	for name, test := range map[string]struct {
		busy time.Duration
		want []time.Duration
	}{
		"not busy":                   {0, []time.Duration{3 * ms, 6 * ms, 9 * ms, 12 * ms}},
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
				if got = append(got, now.Sub(start)); !time.Now().Equal(now) {
					t.Errorf("%v comes at %v", now.Sub(start), time.Since(start))
				}
				time.Sleep(test.busy)
				return len(got) < 4
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("ticks at %v, want %v", got, test.want)
			}
		})
	}
}

func TestInterval_OfALongPeriodDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 100 * 365 * 24 * time.Hour
		start := time.Now()
		got, err := stream.Interval(long).Take(2).Collect(t.Context())
		if err != nil || len(got) != 2 || got[0].Sub(start) != long || got[1].Sub(start) != 2*long || time.Since(start) != 2*long {
			t.Errorf("got %v, %v", got, err)
		}
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

// A cancel at the instant at which the silence has lasted, or the window ends, is the end, whichever is seen first.
func TestWhatHasWaited_ACancelAsTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := stream.Of(1, 2).Concat(stream.Never[int]())
		for name, s := range map[string]stream.Stream[int]{"Debounce": src.Debounce(ms), "ThrottleLatest": src.ThrottleLatest(ms)} {
			for range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				clock := cancelling{stream.ClockFrom(ctx), cancel}
				got, err := s.Collect(stream.WithClock(ctx, clock))
				if len(got) > 2 || name == "Debounce" && len(got) > 1 || !endedBy(ctx, err) {
					t.Fatalf("%s: got %v, %v", name, got, err)
				}
			}
		}
	})
}

// cancelling ends a context right after it has called back.
type cancelling struct {
	stream.Clock
	cancel context.CancelCauseFunc
}

func (c cancelling) AfterFunc(d time.Duration, f func()) stream.Stopper {
	return c.Clock.AfterFunc(d, func() {
		f()
		c.cancel(errCause)
	})
}

// cancelsAtOnce is a clock whose timers fire before AfterFunc returns, and end a context then.
type cancelsAtOnce struct {
	stream.Clock
	cancel context.CancelCauseFunc
}

func (c cancelsAtOnce) AfterFunc(_ time.Duration, f func()) stream.Stopper {
	c.cancel(errCause)
	f()
	return time.NewTimer(0)
}

// A value whose silence ends after the context is dropped.
func TestDebounce_ASilenceThatEndsAfterTheContext(t *testing.T) {
	for range 20 { // the operator picks what it sees first
		ctx, cancel := context.WithCancelCause(t.Context())
		clock := cancelsAtOnce{stream.ClockFrom(ctx), cancel}
		got, err := stream.Of(1).Concat(stream.Never[int]()).Debounce(ms).Collect(stream.WithClock(ctx, clock))
		if len(got) != 0 || !endedBy(ctx, err) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
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

// The first value comes whatever the clock shows, the zero time too.
func TestThrottle_AtTheZeroTime(t *testing.T) {
	got, err := stream.Of(1, 2).Throttle(ms).Collect(stream.WithClock(t.Context(), &setClock{}))
	if err != nil || !slices.Equal(got, []int{1}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// When n values are held the source waits with the n-th, until the first one is done.
func TestTimeShift_HoldsAtMostN(t *testing.T) {
	for n, want := range map[int]string{
		1: "5ms a----b----c----(d|)", 2: "5ms (ab)-(cd|)", 3: "5ms (abc)(d|)", 4: "5ms (abcd|)",
	} {
		expectMarbles(t, map[string]marble{
			fmt.Sprint(n): {source: "(abcd|)", want: want, subs: map[int]string{1: "^-------------------!", 2: "^---------!", 3: "^----!", 4: "^----!"}[n]},
		}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
			return src.TimeShift(5*ms, n)
		})
		synctest.Test(t, func(t *testing.T) {
			made := 0
			src := stream.Range(1, 10).Tap(func(int) { made++ })
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3*ms, errCause)
			defer cancel()
			if got, err := src.TimeShift(5*ms, n).Collect(ctx); got != nil || !endedBy(ctx, err) || made != n {
				t.Errorf("%d: %v, %v, %d values made", n, got, err, made)
			}
		})
	}
}

// One nanosecond is a delay, to each operator that waits.
func TestWhatWaits_OneNanosecond(t *testing.T) {
	two := stream.Of(1, 2)
	synctest.Test(t, func(t *testing.T) {
		for i, s := range []stream.Stream[int]{two.TimeShift(1, 9), two.Concat(stream.Never[int]()).Debounce(1).Take(1), stream.Of(1).Delay(1)} {
			start := time.Now()
			if err := s.ForEach(t.Context(), func(int) {}); err != nil || time.Since(start) != 1 {
				t.Errorf("%d: %v after %v, want 1ns", i, err, time.Since(start))
			}
		}
	})
}
