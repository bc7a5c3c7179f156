package stream_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

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
