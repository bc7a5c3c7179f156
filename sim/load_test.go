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
	want := Load{Bin: 10, Counts: []int64{0, 3, 1, 1}, Total: 5, Mean: 1.25, Peak: 3, PeakAt: 10, PeakOverMean: 2.4, Dead: 10, DeadShare: 0.25}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("load is %+v, %v, want %+v", got, err, want)
	}
	r = &HerdResult{Jobs: 1, Retries: 2, Times: []time.Duration{0, 0}} // all at once
	got, err = r.Load(1)
	want = Load{Bin: 1, Counts: []int64{2}, Total: 2, Mean: 2, Peak: 2, PeakOverMean: 1}
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

func TestWindows(t *testing.T) {
	r := &HerdResult{Jobs: 2, Retries: 2, Times: []time.Duration{60, 10, 15, 100}, End: 100} // in any order
	got, err := r.Windows(5, 6, 20)
	want := []Window{
		{Width: 5, Mean: 0.2, Peak: 1, PeakAt: 10, PeakOverMean: 5, Dead: 5 + 0 + 40 + 35, DeadShare: 80.0 / 95},
		{Width: 6, Mean: 0.24, Peak: 2, PeakAt: 10, PeakOverMean: 2 / 0.24, Dead: 4 + 0 + 39 + 34, DeadShare: 77.0 / 94},
		{Width: 20, Mean: 0.8, Peak: 2, PeakAt: 10, PeakOverMean: 2.5, Dead: 25 + 20, DeadShare: 45.0 / 80},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("windows are %+v, %v, want %+v", got, err, want)
	}
	if got, _ := r.Windows(1000); got[0].Mean != 4 || got[0].PeakOverMean != 1 || got[0].DeadShare != 0 {
		t.Errorf("a window wider than the run: %+v", got[0])
	}
	for _, w := range []time.Duration{0, -5} {
		if _, err := r.Windows(1, w); err == nil {
			t.Errorf("a window of %v is not refused", w)
		}
	}
}

// The peak and the dead time are compared with a search of all windows.
func TestWindowsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := &HerdResult{Jobs: 1, Retries: 1 + rng.IntN(8)}
		for range r.Retries {
			at := time.Duration(rng.IntN(60))
			r.Times = append(r.Times, at)
			r.End = max(r.End, at)
		}
		width := time.Duration(1 + rng.IntN(20))
		got, err := r.Windows(width)
		if err != nil {
			t.Fatal(err)
		}
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
		if got[0].Peak != peak {
			t.Fatalf("peak of %v in %v is %d, want %d", width, r.Times, got[0].Peak, peak)
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
		if got[0].Dead != dead {
			t.Fatalf("dead time of %v in %v is %v, want %v", width, r.Times, got[0].Dead, dead)
		}
	}
}

// PeakAt is the first of several equal peaks.
func TestThePeakIsTheFirstOfEqualOnes(t *testing.T) {
	r := &HerdResult{Jobs: 1, Retries: 5, Times: []time.Duration{3, 12, 14, 25, 26}, End: 26}
	if l, err := r.Load(10); err != nil || l.Peak != 2 || l.PeakAt != 10 {
		t.Errorf("in bins: %+v, %v, want the peak at 10", l, err)
	}
	if w, err := r.Windows(5); err != nil || w[0].Peak != 2 || w[0].PeakAt != 12 {
		t.Errorf("in windows: %+v, %v, want the peak at 12", w, err)
	}
}

// PeakAt is the first of several equal peaks.
func TestLoadPeakIsTheFirst(t *testing.T) {
	r := &HerdResult{Jobs: 2, Retries: 2, Times: []time.Duration{5, 25, 7, 27}, End: 27}
	l, err := r.Load(10)
	if err != nil || l.Peak != 2 || l.PeakAt != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
