package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestRanges(t *testing.T) {
	s := time.Second
	tests := []struct {
		b           backoff.Backoff
		n           int
		low, middle time.Duration
		high        time.Duration // not reached
	}{
		{backoff.Sidekiq(), 1, 15 * s, 30 * s, 45 * s},
		{backoff.Sidekiq(), 2, 16 * s, 46 * s, 76 * s},
		{backoff.Sidekiq(), 3, 31 * s, 76 * s, 121 * s},
		{backoff.Sidekiq(), 11, 10015 * s, 10180 * s, 10345 * s},
		{backoff.Sidekiq().Plus(5 * s), 1, 20 * s, 35 * s, 50 * s},
		{backoff.Buckets(s, 2), 1, 0, 2 * s, 4 * s},
		{backoff.Buckets(s, 2), 2, s, 5 * s, 9 * s},
		{backoff.Buckets(s, 2), 3, 4 * s, 10 * s, 16 * s},
		{backoff.Buckets(10*ms, 1), 4, 30 * ms, 40 * ms, 50 * ms},
		{backoff.Buckets(s, 0), 9, s, s, s},
		{backoff.Buckets(s, 0.5), 3, 1414213562, 1707106781, 2 * s},
		// Scaled down as a whole: the cap is where the top of the range was.
		{backoff.Sidekiq().Cap(9 * s), 1, 3 * s, 6 * s, 9 * s},
		{backoff.Sidekiq().Cap(38 * s), 2, 8 * s, 23 * s, 38 * s},
		{backoff.Buckets(s, 2).Cap(8 * s), 3, 2 * s, 5 * s, 8 * s},
		{backoff.Buckets(s, 2).Cap(16 * s), 3, 4 * s, 10 * s, 16 * s},
		{backoff.Buckets(s, 2).Plus(4 * s).Cap(10 * s), 3, 4 * s, 7 * s, 10 * s},
		{backoff.Sidekiq().Cap(0), 3, 0, 0, 0},
		// A jitter multiplies, with the same u, and the cap holds for both together.
		{backoff.Buckets(s, 2).Jitter(jitter.Full), 3, 0, 5 * s, 16 * s},
		{backoff.Buckets(s, 2).Jitter(jitter.Deviation(0.5)), 3, 2 * s, 10 * s, 24 * s},
		{backoff.Buckets(s, 2).Jitter(jitter.Deviation(0.5)).Cap(12 * s), 3, s, 5 * s, 12 * s},
	}
	for _, tt := range tests {
		if got := tt.b.At(tt.n, 0); got != tt.low {
			t.Errorf("(%v).At(%d, 0) = %v, want %v", tt.b, tt.n, got, tt.low)
		}
		if got := tt.b.At(tt.n, 0.5); got != tt.middle {
			t.Errorf("(%v).At(%d, 0.5) = %v, want %v", tt.b, tt.n, got, tt.middle)
		}
		if got := tt.b.At(tt.n, below1); got > tt.high || got < tt.high-2 {
			t.Errorf("(%v).At(%d, just below 1) = %v, want %v or up to 2ns less", tt.b, tt.n, got, tt.high)
		}
	}
}

func TestRangesOfAnEnormousCurveKeepTheirShapeUnderACap(t *testing.T) {
	b := backoff.Buckets(time.Hour, 300).Cap(time.Minute) // 5^300 hours
	want := time.Duration(math.Round(math.Pow(3.0/5, 300) * float64(time.Minute)))
	if got := b.At(4, 0); got != want {
		t.Errorf("the low end is %v, want %v", got, want)
	}
	if got := b.At(4, 0.5); got != 30*time.Second {
		t.Errorf("the middle is %v, want 30s", got)
	}
	if got := backoff.Buckets(0, 1e300).Plus(5*time.Second).Cap(time.Second).Jitter(jitter.Full).At(1, 0.5); got != 500*ms {
		t.Errorf("a curve with no width is %v at the cap under full jitter, want 500ms", got)
	}
	if lo, hi := backoff.Buckets(0, 1e300).Plus(5*time.Second).Cap(time.Second).At(1, 0), backoff.Sidekiq().Cap(1).At(math.MaxInt, 0.5); lo != time.Second || hi != 1 {
		t.Errorf("curves with no width are %v and %v at the cap, want 1s and 1ns", lo, hi)
	}
}

func TestSidekiqTakesAboutTwentyDaysForTwentyFiveRetries(t *testing.T) {
	var sum time.Duration
	for n := 1; n <= 25; n++ {
		sum += backoff.Sidekiq().At(n, 0.5)
	}
	if want := 1768270 * time.Second; sum != want { // 20.5 days
		t.Errorf("25 retries wait %v in all, want %v", sum, want)
	}
}
