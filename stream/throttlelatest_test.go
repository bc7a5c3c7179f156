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

func TestThrottleLatest(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"the first, and the latest of each window": {source: "-a-xy----b--x----c-d----|", want: "-a----y----b----x----d--|", subs: "^-----------------------!"},
		"one value":                            {source: "-a------------|", want: "-a------------|", subs: "^-------------!"},
		"values that are further apart":        {source: "-a------b------c------|", want: "-a------b------c------|", subs: "^---------------------!"},
		"two in one window":                    {source: "-ab-------|", want: "-a----b---|", subs: "^---------!"},
		"the second opens a window of its own": {source: "-a-b----c----d----|", want: "-a----b----c----d-|", subs: "^-----------------!"},
		"a value that waits comes at the end":  {source: "-a-b|", want: "-a--(b|)", subs: "^---!"},
		"and before an error":                  {source: "-a-b#", want: "-a--(b#)", subs: "^---!"},
		"once":                                 {source: "-a-b-----|", want: "-a----b--|", subs: "^--------!"},
		"all at once":                          {source: "(abc)-------|", want: "a----c------|", subs: "^-----------!"},
		"all at once, and the end":             {source: "(abc|)", want: "(ac|)", subs: "(^!)"},
		"an empty source":                      {source: "-----|", want: "-----|", subs: "^----!"},
		"one that ends at once":                {source: "|", want: "|", subs: "(^!)"},
		"a silent one":                         {source: "-", want: "-", subs: "^"},
		"a failure at once":                    {source: "#", want: "#", subs: "(^!)"},
		"a value and no end":                   {source: "-ab-", want: "-a----b------", subs: "^"},
		"cancelled in a window":                {source: "-a-b------|", during: "----!", want: "-a--------", subs: "^---!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.ThrottleLatest(5 * ms)
	})
}

// The window begins with the delivery, so a consumer that is busy for longer finds it over.
func TestThrottleLatest_ABusyConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			src := at(ev{1 * ms, 1}, ev{3 * ms, 2}, ev{4 * ms, 3}, ev{30 * ms, 4})
			var got []ev
			start := time.Now()
			err := src.ThrottleLatest(5*ms).ForEach(t.Context(), func(v int) {
				got = append(got, ev{time.Since(start), v})
				time.Sleep(9 * ms)
			})
			// 2 waits in the source when the consumer is done with 1, and 3 comes after it.
			if want := []ev{{1 * ms, 1}, {10 * ms, 2}, {19 * ms, 3}, {30 * ms, 4}}; err != nil || !slices.Equal(got, want) {
				t.Fatalf("got %v, %v, want %v", got, err, want)
			}
		}
	})
}

// A cancel at the instant at which the window ends is the end, whichever is seen first.
func TestThrottleLatest_ACancelAsTheWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithCancelCause(t.Context())
			clock := cancelling{stream.ClockFrom(ctx), cancel}
			got, err := stream.Of(1, 2).Concat(stream.Never[int]()).ThrottleLatest(ms).Collect(stream.WithClock(ctx, clock))
			if len(got) > 2 || !endedBy(ctx, err) {
				t.Fatalf("got %v, %v", got, err)
			}
		}
	})
}

func TestThrottleLatest_Retried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{2 * ms, 2}, ev{10 * ms, 3}, ev{12 * ms, 4}).MustNotEnd(errBoom)
		expectTimes(t, src.ThrottleLatest(5*ms).Retry(1), []ev{
			{1 * ms, 1}, {6 * ms, 2}, {11 * ms, 3}, {12 * ms, 4}, {13 * ms, 1}, {18 * ms, 2}, {23 * ms, 3}, {24 * ms, 4},
		}, 24*ms, errBoom)
	})
}

func TestThrottleLatest_ZeroSetsNoTimer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := stream.Of(1, 2).ThrottleLatest(0).Collect(stream.WithClock(ctx, cancelling{stream.ClockFrom(ctx), cancel}))
	if err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A consumer that stops at the value that has waited gets no error, though the source has failed.
func TestThrottleLatest_AStopWithTheValueThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream.Of(1, 2).Concat(stream.Fail[int](errBoom)).ThrottleLatest(time.Hour)
		if err := s(t.Context(), func(v int) bool { return v < 2 }); err != nil {
			t.Error(err)
		}
	})
}
