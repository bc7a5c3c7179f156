package sim

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
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
