package stream_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

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
	expect(t, stream.Of(1, 2).Throttle(time.Hour).Repeat(2), []int{1, 1}, nil)
}

// The first value comes whatever the clock shows, the zero time too.
func TestThrottle_AtTheZeroTime(t *testing.T) {
	got, err := stream.Of(1, 2).Throttle(ms).Collect(stream.WithClock(t.Context(), &setClock{}))
	if err != nil || !slices.Equal(got, []int{1}) {
		t.Errorf("got %v, %v", got, err)
	}
}
