package sim

import (
	"fmt"
	"time"
)

// maxBins is the most bins that a load is divided into.
const maxBins = 1 << 20

// Load is the number of retries of a herd in each bin of time. Bin i, from 0, is [i·Bin, (i+1)·Bin), and the last bin
// holds the last retry.
//
// Its peak and its dead time depend on where the bins begin; a Window's do not.
type Load struct {
	Bin          time.Duration `json:"bin"`
	Counts       []int64       `json:"counts"`
	Total        int64         `json:"total"` // the sum of Counts
	Mean         float64       `json:"mean"`  // Total/len(Counts)
	Peak         int64         `json:"peak"`  // the largest of Counts
	PeakAt       time.Duration `json:"peakAt"`
	PeakOverMean float64       `json:"peakOverMean"`
	Dead         time.Duration `json:"dead"`      // the number of empty bins, times Bin
	DeadShare    float64       `json:"deadShare"` // the share of empty bins
}

// Load returns the load per bin. The error is a *FieldError if bin is not positive, or if there would be more than 2²⁰
// bins.
func (r *HerdResult) Load(bin time.Duration) (Load, error) {
	least := r.End/maxBins + 1
	if bin < least {
		return Load{}, &FieldError{"Load", "bin", bin, fmt.Sprintf("at least %v for a run of %v", least, r.End)}
	}
	l := Load{Bin: bin, Counts: make([]int64, r.End/bin+1)}
	for _, t := range r.Times {
		if t != Never {
			l.Counts[t/bin]++
			l.Total++
		}
	}
	dead := 0
	for i, c := range l.Counts {
		if c > l.Peak {
			l.Peak, l.PeakAt = c, time.Duration(i)*bin
		}
		if c == 0 {
			dead++
		}
	}
	l.Dead = time.Duration(dead) * bin
	l.DeadShare = float64(dead) / float64(len(l.Counts))
	l.Mean = float64(l.Total) / float64(len(l.Counts))
	if l.Total > 0 {
		l.PeakOverMean = float64(l.Peak) / l.Mean
	}
	return l, nil
}
