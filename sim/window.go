package sim

import (
	"slices"
	"time"
)

// Window is a herd's load seen through a window of one width, moved along the whole of its time. Unlike a Load it does
// not depend on where bins begin.
type Window struct {
	Width        time.Duration `json:"width"`
	Mean         float64       `json:"mean"` // of the retries in a window: their number · Width/End
	Peak         int64         `json:"peak"` // the most retries in any window [t, t+Width)
	PeakAt       time.Duration `json:"peakAt"`
	PeakOverMean float64       `json:"peakOverMean"` // 0 if there is no mean
	Dead         time.Duration `json:"dead"`         // for how long, from 0 to End, a window holds no retry: the sum of gap-Width over all gaps longer than Width
	DeadShare    float64       `json:"deadShare"`    // Dead as a share of the window's way, End-Width
}

// Windows returns the load through windows of these widths, the peak and the dead time among it. It sorts the times of
// all retries, once. The error is a *FieldError if a width is not positive.
//
// The peak is that of the fullest window, wherever it lies, and the dead time is that of the windows that hold
// nothing: the time before the first retry counts, that after the last does not.
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

// sorted is the times of all retries that came, in order.
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
	first := 0 // of the retries in the window that ends with the one at hand
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
