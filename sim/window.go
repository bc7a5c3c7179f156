package sim

import (
	"slices"
	"time"
)

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

// window returns a herd's load in a window of some width that slides from time 0 to the last retry: the most retries in
// it, these over the mean (0 if that is 0), and the share of its places at which it is empty. times are sorted.
func (r *HerdResult) window(times []time.Duration, width time.Duration) (peak int64, overMean, deadShare float64) {
	first := 0 // the first retry in the window that ends with retry i
	var before, dead time.Duration
	for i, t := range times {
		for t-times[first] >= width {
			first++
		}
		peak = max(peak, int64(i-first+1))
		dead += max(0, t-before-width) // the gap before the first retry too, but not the time after the last one
		before = t
	}
	if r.End > width {
		deadShare = float64(dead) / float64(r.End-width)
	}
	if mean := float64(min(width, r.End)) / float64(max(r.End, 1)) * float64(len(times)); mean > 0 {
		overMean = float64(peak) / mean
	}
	return peak, overMean, deadShare
}
