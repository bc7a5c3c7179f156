package stream_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

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
