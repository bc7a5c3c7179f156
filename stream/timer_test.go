package stream_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
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
