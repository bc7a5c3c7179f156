package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsHoldTheirNumbers(t *testing.T) {
	for _, v := range []int64{0, 1, 127, 128, 255, 256, 257, 1000, 1e6, 1e9, 1e18, math.MaxInt64 - 1, math.MaxInt64} {
		m := middle(bucket(v))
		if v < 256 && m != v || math.Abs(float64(m)-float64(v)) > float64(v)/256 {
			t.Errorf("%d is in the bucket of %d", v, m)
		}
	}
	for v := range int64(1 << 16) {
		if d := bucket(v+1) - bucket(v); d < 0 || d > 1 {
			t.Fatalf("%d is in bucket %d, %d in %d", v, bucket(v), v+1, bucket(v+1))
		}
	}
}

// The percentile is the nearest-rank percentile of the sorted numbers.
// An Estimate is in units of the numbers that were added.
func TestEstimate(t *testing.T) {
	var m moments
	for i := range 100 {
		m.addFigure(float64(i+1) / 1000)
	}
	got := m.estimate()
	want := Estimate{100, 0.0505, math.Sqrt((100*100-1)/12.0) / 1000, 0.05, 0.09, 0.099}
	near := func(a, b float64) bool { return math.Abs(a-b) <= b/256 }
	if got.Count != want.Count || !near(got.Mean, want.Mean) || !near(got.SD, want.SD) || !near(got.P50, want.P50) || !near(got.P90, want.P90) || !near(got.P99, want.P99) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPercentiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 99, 100, 101, 5000} {
		var m moments
		var all []int64
		for range n {
			v := int64(rng.ExpFloat64() * 1e9)
			m.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		for _, p := range []int{1, 50, 90, 99, 100} {
			got, want := m.percentile(p), int64(0)
			if n > 0 {
				want = all[int(math.Ceil(float64(p)/100*float64(n)))-1]
			}
			if math.Abs(float64(got-want)) > float64(want)/256 {
				t.Errorf("percentile %d of %d numbers is %d, want %d", p, n, got, want)
			}
		}
		if n > 0 && (m.spread().P99 > m.spread().Most || m.spread().P50 < m.spread().Least) {
			t.Errorf("%+v", m.spread())
		}
		m.reset()
		if m.add(7); m.percentile(50) != 7 || m.count != 1 {
			t.Errorf("after a reset: %+v", m.counts())
		}
	}
}

func TestConfidence(t *testing.T) {
	if got := (Counts{SD: 10, Count: 25}).Confidence(); math.Abs(got-3.92) > 1e-9 {
		t.Errorf("of 25 values with a deviation of 10: %v, want 3.92", got)
	}
	if got := (Spread{SD: 10 * time.Second, Count: 25}).Confidence(); got != 3920*time.Millisecond {
		t.Errorf("of 25 values with a deviation of 10 s: %v, want 3.92 s", got)
	}
}
