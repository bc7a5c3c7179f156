package sim

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	r := &HerdResult{Jobs: 3, Retries: 2, Times: []time.Duration{10, 29, 10, 35, 19, Never}, End: 35}
	got, err := r.Load(10)
	want := Load{Bin: 10, Counts: []int64{0, 3, 1, 1}, Peak: 3}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("load is %+v, %v, want %+v", got, err, want)
	}
	r = &HerdResult{Jobs: 1, Retries: 2, Times: []time.Duration{0, 0}} // all at once
	got, err = r.Load(1)
	want = Load{Bin: 1, Counts: []int64{2}, Peak: 2}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("load is %+v, %v, want %+v", got, err, want)
	}
}

func TestLoadRefusesTooManyBins(t *testing.T) {
	r := &HerdResult{Jobs: 1, Retries: 1, Times: []time.Duration{time.Hour}, End: time.Hour}
	for _, bin := range []time.Duration{0, -1, math.MinInt64, time.Microsecond} {
		_, err := r.Load(bin)
		if f, ok := errors.AsType[*FieldError](err); !ok || f.Field != "bin" || f.Want != "at least 3.433228ms for a run of 1h0m0s" {
			t.Errorf("bin %v: %v", bin, err)
		}
	}
	if l, err := r.Load(3433228); err != nil || len(l.Counts) != maxBins {
		t.Errorf("the least bin: %d bins, %v", len(l.Counts), err)
	}
	r.Times[0], r.End = math.MaxInt64-1, math.MaxInt64-1
	if l, err := r.Load(math.MaxInt64); err != nil || len(l.Counts) != 1 {
		t.Errorf("the largest bin: %+v, %v", l, err)
	}
}

func TestWindow(t *testing.T) {
	r := &HerdResult{Jobs: 2, Retries: 2, Times: []time.Duration{60, 10, 15, 100}, End: 100} // in any order
	for _, test := range []struct {
		width               time.Duration
		peak                int64
		overMean, deadShare float64
	}{
		{5, 1, 5, (5 + 0 + 40 + 35) / 95.0}, {6, 2, 2 / 0.24, (4 + 0 + 39 + 34) / 94.0}, {20, 2, 2.5, (25 + 20) / 80.0}, {1000, 4, 1, 0},
	} {
		if peak, overMean, deadShare := r.window(r.sorted(), test.width); peak != test.peak || math.Abs(overMean-test.overMean) > 1e-9 || deadShare != test.deadShare {
			t.Errorf("a window of %d: %v, %v, %v, want %+v", test.width, peak, overMean, deadShare, test)
		}
	}
}

// The peak and the dead time are compared with a search of all windows.
func TestWindowAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := &HerdResult{Jobs: 1, Retries: 1 + rng.IntN(8)}
		for range r.Retries {
			at := time.Duration(rng.IntN(60))
			r.Times = append(r.Times, at)
			r.End = max(r.End, at)
		}
		width := time.Duration(1 + rng.IntN(20))
		got, _, share := r.window(r.sorted(), width)
		var peak int64
		for start := range r.End + 1 {
			n := int64(0)
			for _, at := range r.Times {
				if at >= start && at < start+width {
					n++
				}
			}
			peak = max(peak, n)
		}
		if got != peak {
			t.Fatalf("peak of %v in %v is %d, want %d", width, r.Times, got, peak)
		}
		var dead time.Duration // all windows that start between two whole numbers hold the same
		for start := range max(0, r.End-width) {
			empty := true
			for _, at := range r.Times {
				middle := 2*start + 1
				empty = empty && (2*at < middle || 2*at >= middle+2*width)
			}
			if empty {
				dead++
			}
		}
		if got := share * float64(max(0, r.End-width)); math.Abs(got-float64(dead)) > 1e-9 {
			t.Fatalf("dead time of %v in %v is %v, want %v", width, r.Times, got, dead)
		}
	}
}

// The events come in order, whatever the order in which they were scheduled.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var (
			h    heap[event]
			want []event
		)
		remove := func(e event) event {
			i := slices.IndexFunc(want, func(w event) bool { return w.at == e.at && w.mark == e.mark })
			want = slices.Delete(want, i, i+1)
			return slices.MinFunc(append([]event{e}, want...), func(a, b event) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.mark, b.mark))
			})
		}
		for i := range 300 {
			e := event{at: time.Duration(rng.IntN(40)), mark: int64(i)}
			switch rng.IntN(3) {
			case 0:
				if len(h) > 0 {
					first := h[0]
					if got := h.pop(); got != first || remove(got) != got {
						t.Fatalf("round %d: pop returns %v, which is not the first", round, got)
					}
				}
			case 1:
				if len(h) > 0 {
					if first := h[0]; remove(first) != first {
						t.Fatalf("round %d: %v is not the first", round, first)
					}
					h.replace(e)
					want = append(want, e)
				}
			default:
				h.push(e)
				want = append(want, e)
			}
			if len(h) != len(want) {
				t.Fatalf("round %d: the heap has %d events, want %d", round, len(h), len(want))
			}
		}
	}
}

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
