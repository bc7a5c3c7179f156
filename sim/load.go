package sim

import (
	"fmt"
	"slices"
	"time"
)

// maxBins is the most bins that a load is divided into.
const maxBins = 1 << 20

// Load is the number of retries of a herd in each bin of time. Bin i, from 0, is [i·Bin, (i+1)·Bin), and the last bin
// holds the last retry.
//
// Its peak depends on where the bins begin.
type Load struct {
	Bin    time.Duration `json:"bin"`
	Counts []int64       `json:"counts"`
	Peak   int64         `json:"peak"` // the largest of Counts
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
		}
	}
	l.Peak = slices.Max(l.Counts)
	return l, nil
}
