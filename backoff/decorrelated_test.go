package backoff_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestDecorrelatedStep(t *testing.T) {
	s := time.Second
	b := backoff.Decorrelated(s)
	tests := []struct {
		b    backoff.Backoff
		prev time.Duration
		u    float64
		want time.Duration
	}{
		{b, 0, 0, s},
		{b, 0, 0.5, 2 * s},
		{b, 0, below1, 3*s - 1},
		{b, -s, 0.5, 2 * s},
		{b, s, 0.5, 2 * s},
		{b, 3 * s, 0, s},
		{b, 3 * s, 0.25, 3 * s},
		{b, 3 * s, 0.5, 5 * s},
		{b, 10 * s, 0.5, 15500 * ms},
		{b, s / 2, 0.5, 1250 * ms},
		{b, s / 10, 0.5, s},                        // 3·prev is below base
		{b, longest, 0.5, s + (longest-s)/2 - 255}, // to 15 digits
		{b, 3 * s, -1, s},
		{b, 3 * s, math.NaN(), s},
		{b.Cap(4 * s), 3 * s, 0.25, 3 * s},
		{b.Cap(4 * s), 3 * s, 0.5, 4 * s},
		{b.Cap(s / 2), 3 * s, 0.5, s / 2},
		{b.Plus(s), 3 * s, 0.5, 6 * s},
		{b.Plus(s).Cap(5500 * ms), 3 * s, 0.5, 5500 * ms},
		{b.Jitter(jitter.Equal), 3 * s, 0.5, 3750 * ms},
		{b.Jitter(jitter.Deviation(0.5)).Cap(6 * s), 3 * s, 0.5, 4 * s},
	}
	for _, tt := range tests {
		for _, n := range []int{1, 2, 9, math.MaxInt} { // the chain knows no n
			if got := tt.b.After(n, tt.prev, tt.u); got != tt.want {
				t.Errorf("(%v).After(%d, %v, %v) = %v, want %v", tt.b, n, tt.prev, tt.u, got, tt.want)
			}
		}
	}
	for _, u := range []float64{0, 0.25, 0.5, below1} {
		if got, want := b.At(1, u), b.After(1, 0, u); got != want {
			t.Errorf("At(1, %v) = %v, want the first step, %v", u, got, want)
		}
	}
}

// chains are Decorrelated backoffs that differ in how their chain behaves.
func chains() []backoff.Backoff {
	return []backoff.Backoff{
		backoff.Decorrelated(time.Second),
		backoff.Decorrelated(1),
		backoff.Decorrelated(100 * ms).Cap(30 * time.Second),
		backoff.Decorrelated(100 * ms).Cap(150 * ms),
		backoff.Decorrelated(time.Second).Cap(ms),
		backoff.Decorrelated(10 * ms).Plus(50 * ms).Cap(10 * time.Second),
		backoff.Decorrelated(100 * ms).Jitter(jitter.Full).Cap(time.Hour), // the jitter draws it back to base
		backoff.Decorrelated(100 * ms).Jitter(jitter.Deviation(0.5)).Cap(time.Minute),
		backoff.Decorrelated(0).Plus(1).Cap(time.Second),
	}
}

// At must have the distribution of n steps of After, for which a
// Kolmogorov-Smirnov test of two samples is exact enough: with these sizes it
// is wrong once in a thousand, and the seeds are fixed.
func TestDecorrelatedHasTheDistributionOfItsChain(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of some seconds")
	}
	for i, b := range chains() {
		for _, n := range []int{1, 2, 8, 64, 65, 700} {
			samples := 4000
			if n > 100 {
				samples = 600
			}
			r := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			var at, grid, chain []time.Duration
			for k := range samples {
				at = append(at, b.At(n, r.Float64()))
				grid = append(grid, b.At(n, (float64(k)+0.5)/float64(samples)))
				var d time.Duration
				for step := 1; step <= n; step++ {
					d = b.After(step, d, r.Float64())
				}
				chain = append(chain, d)
			}
			most := 1.95 * math.Sqrt(2/float64(samples))
			if got := distance(at, chain); got > most {
				t.Errorf("%v: At(%d, ·) is %.4f off the chain's distribution, want < %.4f", b, n, got, most)
			}
			if got := distance(grid, chain); got > most {
				t.Errorf("%v: At(%d, ·) on an even grid is %.4f off the chain's distribution, want < %.4f", b, n, got, most)
			}
		}
	}
}

// distance is the Kolmogorov-Smirnov distance between two samples of equal size.
func distance(a, b []time.Duration) float64 {
	slices.Sort(a)
	slices.Sort(b)
	most, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		most = max(most, i-j, j-i)
	}
	return float64(most) / float64(len(a))
}

func TestDecorrelatedIsTheChainForAnyN(t *testing.T) {
	for _, b := range chains() {
		for _, u := range []float64{0, 0.1, 0.7, below1} {
			path := b.Keyed(uint64(u * 1e6)) // one key, one chain: After goes on from At
			d := path.At(1, 0)
			for n := 2; n <= 600; n++ {
				want := path.After(n, d, 0)
				if d = path.At(n, 0); d != want {
					t.Fatalf("%v: the delay %d is %v, but a step from the one before it gives %v", path, n, d, want)
				}
			}
		}
	}
}

// The chain of a u, and so of a key, never changes: stored delays and running fleets depend on it.
func TestDecorrelatedChainIsPinned(t *testing.T) {
	var got []time.Duration
	for n := 1; n <= 5; n++ {
		got = append(got, backoff.Decorrelated(time.Second).At(n, 0.25).Round(ms))
	}
	if want := []time.Duration{1500 * ms, 1091 * ms, 1594 * ms, 2141 * ms, 4772 * ms}; !slices.Equal(got, want) {
		t.Errorf("the delays are %v, want %v", got, want)
	}
}

func TestDecorrelatedForgetsItsBeginning(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of some seconds")
	}
	// The distribution after very many failures is the one after many.
	const samples = 600
	for _, b := range chains() {
		r := rand.New(rand.NewPCG(1, 2))
		var far, farther []time.Duration
		for range samples {
			far = append(far, b.At(3000, r.Float64()))
			farther = append(farther, b.At(math.MaxInt, r.Float64()))
		}
		if got, most := distance(far, farther), 1.95*math.Sqrt(2.0/samples); got > most {
			t.Errorf("%v: the distribution at MaxInt is %.4f off the one at 3000, want < %.4f", b, got, most)
		}
	}
}

func TestDecorrelatedCeilingIsReachedAndNotPassed(t *testing.T) {
	for _, b := range chains() {
		b = b.Jitter(jitter.None)
		var d time.Duration
		for n := 1; n <= 100; n++ {
			d = b.After(n, d, below1)
			// The nanosecond that a step stays below its top counts where base is one.
			if c := b.Ceiling(n); d > c || d < c-c/1e6 && b.Ceiling(1) > ms {
				t.Errorf("%v: the longest chain is at %v after %d failures, want just below %v", b, d, n, c)
			}
		}
	}
}

func BenchmarkDecorrelated(b *testing.B) {
	capped := backoff.Decorrelated(100 * ms).Cap(30 * time.Second)
	for _, bb := range []struct {
		name string
		b    backoff.Backoff
		n    int
	}{
		{"n=1", capped, 1}, {"n=5", capped, 5}, {"n=50", capped, 50}, {"n=MaxInt", capped, math.MaxInt},
		{"n=MaxInt without a cap", backoff.Decorrelated(1), math.MaxInt},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.b.Delay(bb.n)
			}
		})
	}
}

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
