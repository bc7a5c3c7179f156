package sim

import "time"

// OverloadResult is what became of an Overload.
type OverloadResult struct {
	Operations  int64 `json:"operations"` // that came
	Succeeded   int64 `json:"succeeded"`
	GivenUp     int64 `json:"givenUp"`     // the others were on their way at the end
	Offered     int64 `json:"offered"`     // requests that reached the server
	Refused     int64 `json:"refused"`     // of them, as the queue was full
	Served      int64 `json:"served"`      // of them, while their callers waited
	Wasted      int64 `json:"wasted"`      // of them that the server worked at for nobody
	Dropped     int64 `json:"dropped"`     // of them, for their callers had left
	OutOfBudget int64 `json:"outOfBudget"` // calls of any layer that ended for want of budget

	// Amplification is the number of requests that an operation makes: Offered/Operations.
	Amplification float64 `json:"amplification"`

	Wait    Spread `json:"wait"`    // in the queue, of the requests that the server worked at
	Latency Spread `json:"latency"` // of the operations that succeeded, from their arrival

	// Recovered reports whether the server was well again at the end: whether of the operations that came in each of the
	// last bins, five at the least, 95 % or more were healthy. RecoveredAfter is when the first of these bins began,
	// counted from the Trigger's end (At+For); 0 is at once. A bin counts if there was time for its last operation to be
	// healthy.
	Recovered      bool          `json:"recovered"`
	RecoveredAfter time.Duration `json:"recoveredAfter"`

	Flow Flow `json:"flow"`
}

const (
	healthyShare = 0.95
	healthyBins  = 5
)

// Flow is an Overload over time: the i-th entries are of the time [i·Bin, (i+1)·Bin).
type Flow struct {
	Bin       time.Duration `json:"bin"`
	Arrived   []int64       `json:"arrived"`   // operations
	Healthy   []int64       `json:"healthy"`   // of those that arrived then, the ones that succeeded in good time
	Succeeded []int64       `json:"succeeded"` // operations that succeeded then: the goodput
	Offered   []int64       `json:"offered"`   // requests that reached the server
	Refused   []int64       `json:"refused"`   // requests that found the queue full
	Wasted    []int64       `json:"wasted"`    // requests that the server finished for nobody
	Queue     []int64       `json:"queue"`     // requests in the queue, the most at any time
}

func newFlow(bin, horizon time.Duration) Flow {
	n := int((horizon-1)/bin) + 1
	all := make([]int64, 7*n)
	cut := func() []int64 {
		part := all[:n:n]
		all = all[n:]
		return part
	}
	return Flow{bin, cut(), cut(), cut(), cut(), cut(), cut(), cut()}
}

// bump counts one at the time.
func (f *Flow) bump(counts []int64, at time.Duration) { counts[at/f.Bin]++ }

// queue notes that n operations waited in the queue from one time to the other.
func (f *Flow) queue(from, to time.Duration, n int) {
	for i := from / f.Bin; i < time.Duration(len(f.Queue)) && i*f.Bin < to; i++ {
		f.Queue[i] = max(f.Queue[i], int64(n))
	}
}

func (s *overload) result() *OverloadResult {
	r := &s.res
	if r.Operations > 0 {
		r.Amplification = float64(r.Offered) / float64(r.Operations)
	}
	r.Wait, r.Latency = s.wait.spread(), s.latency.spread()
	r.RecoveredAfter, r.Recovered = r.Flow.recovered(s.Trigger.end(), s.now-s.healthy())
	return r
}

// recovered returns how long after the trigger's end the last healthy bins begin. The bins count that end by last.
func (f *Flow) recovered(trigger, last time.Duration) (after time.Duration, ok bool) {
	if last < 0 {
		return 0, false
	}
	bins := int(last / f.Bin)
	first := bins
	for first > 0 && float64(f.Healthy[first-1]) >= healthyShare*float64(f.Arrived[first-1]) {
		first--
	}
	start := time.Duration(first) * f.Bin
	if bins-first < healthyBins || time.Duration(bins)*f.Bin <= trigger {
		return 0, false
	}
	return max(0, start-trigger), true
}
