package sim

import (
	"slices"
	"time"
)

// Window is a herd's load in a sliding window, from time 0 to the last retry. Unlike a Load it does not depend on where
// bins begin.
type Window struct {
	Width        time.Duration `json:"width"`
	Mean         float64       `json:"mean"` // the mean number of retries in a window: all retries · Width/End, at most all
	Peak         int64         `json:"peak"` // the most retries in any window [t, t+Width)
	PeakAt       time.Duration `json:"peakAt"`
	PeakOverMean float64       `json:"peakOverMean"` // 0 if Mean is 0
	Dead         time.Duration `json:"dead"`         // how long the window is empty between 0 and End: the sum of gap-Width over all gaps longer than Width
	DeadShare    float64       `json:"deadShare"`    // Dead over End-Width; 0 if End is at most Width
}

// Windows returns the load in sliding windows of the given widths, with its peak and dead time. It sorts the times of
// all retries once. The error is a *FieldError if a width is not positive.
//
// The dead time includes the gap before the first retry, but not the time after the last one.
func (r *HerdResult) Windows(widths ...time.Duration) ([]Window, error) {
	for _, w := range widths {
		if w <= 0 {
			return nil, &FieldError{"Windows", "width", w, "more than 0"}
		}
	}
	times := r.sorted()
	all := make([]Window, len(widths))
	for i, w := range widths {
		all[i] = r.window(times, w)
	}
	return all, nil
}

// sorted returns the times of all retries that happened, in order.
func (r *HerdResult) sorted() []time.Duration {
	times := make([]time.Duration, 0, len(r.Times))
	for _, t := range r.Times {
		if t != Never {
			times = append(times, t)
		}
	}
	slices.Sort(times)
	return times
}

func (r *HerdResult) window(times []time.Duration, width time.Duration) Window {
	w := Window{Width: width}
	first := 0 // the first retry in the window that ends with retry i
	var before time.Duration
	for i, t := range times {
		for t-times[first] >= width {
			first++
		}
		if n := int64(i - first + 1); n > w.Peak {
			w.Peak, w.PeakAt = n, times[first]
		}
		w.Dead += max(0, t-before-width)
		before = t
	}
	if r.End > width {
		w.DeadShare = float64(w.Dead) / float64(r.End-width)
	}
	if r.End > 0 {
		w.Mean = float64(min(width, r.End)) / float64(r.End) * float64(len(times))
	}
	if w.Mean > 0 {
		w.PeakOverMean = float64(w.Peak) / w.Mean
	}
	return w
}
