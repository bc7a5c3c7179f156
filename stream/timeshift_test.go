package stream_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestTimeShift(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"values keep their distances":           {source: "-a-b--c--------|", want: "------a-b--c---|", subs: "^--------------!"},
		"the end waits for the last value":      {source: "-a-b|", want: "------a-(b|)", subs: "^---!"},
		"an error too, and drops none":          {source: "-a-b#", want: "------a-(b#)", subs: "^---!"},
		"the end of an empty source is in time": {source: "---|", want: "---|", subs: "^--!"},
		"a failure without a value too":         {source: "---#", want: "---#", subs: "^--!"},
		"one that ends at once":                 {source: "|", want: "|", subs: "(^!)"},
		"values of one instant":                 {source: "(abc|)", want: "-----(abc|)", subs: "(^!)"},
		"a value, then silence":                 {source: "-a-", want: "------a--", subs: "^"},
		"a silent one":                          {source: "-", want: "-", subs: "^"},
		"cancelled, it drops what is held":      {source: "-a-b-c-|", during: "-------!", want: "------a---", subs: "^------!"},
		"cancelled before the first value":      {source: "-a-b-c-|", during: "---!", want: "---------", subs: "^--!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.TimeShift(5*ms, 9)
	})
}

// When n values are held the source waits with the n-th, until the first one is done.
func TestTimeShift_HoldsAtMostN(t *testing.T) {
	for n, want := range map[int][]ev{
		1: {{5 * ms, 1}, {10 * ms, 2}, {15 * ms, 3}, {20 * ms, 4}},
		2: {{5 * ms, 1}, {5 * ms, 2}, {10 * ms, 3}, {10 * ms, 4}},
		3: {{5 * ms, 1}, {5 * ms, 2}, {5 * ms, 3}, {10 * ms, 4}},
		4: {{5 * ms, 1}, {5 * ms, 2}, {5 * ms, 3}, {5 * ms, 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			made := 0
			src := stream.Range(1, 4).Tap(func(int) { made++ })
			expectTimes(t, src.TimeShift(5*ms, n), want, want[3].at, nil)
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

// The time of a value is that at which the source made it, also while the consumer is busy.
func TestTimeShift_ABusyConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{0, 1}, ev{1 * ms, 2}, ev{2 * ms, 3}, ev{12 * ms, 4})
		var got []ev
		start := time.Now()
		err := src.TimeShift(5*ms, 9).ForEach(t.Context(), func(v int) {
			got = append(got, ev{time.Since(start), v})
			time.Sleep(4 * ms)
		})
		if want := []ev{{5 * ms, 1}, {9 * ms, 2}, {13 * ms, 3}, {17 * ms, 4}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

func TestTimeShift_Zero(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := stream.Of(1, 2).TimeShift(0, 1<<20).Collect(stream.WithClock(ctx, cancelling{stream.ClockFrom(ctx), cancel}))
	if err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTimeShift_Stopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := 0
		src := at(ev{0, 1}, ev{1 * ms, 2}, ev{time.Hour, 3}).OnEnd(func(error) { returned++ })
		expectTimes(t, src.TimeShift(5*ms, 9).Take(2), []ev{{5 * ms, 1}, {6 * ms, 2}}, 6*ms, nil)
		if returned != 1 {
			t.Errorf("the source has returned %d times", returned)
		}
	})
}
