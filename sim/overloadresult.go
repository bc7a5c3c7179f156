package sim

import "time"

// OverloadResult is the result of an Overload.
type OverloadResult struct {
	Operations  int64 `json:"operations"`  // all that came
	Succeeded   int64 `json:"succeeded"`   // operations
	GivenUp     int64 `json:"givenUp"`     // operations; the remaining ones were running at the end
	Offered     int64 `json:"offered"`     // requests that reached the server
	Refused     int64 `json:"refused"`     // requests that found the queue full
	Served      int64 `json:"served"`      // requests that were finished while their callers waited
	Wasted      int64 `json:"wasted"`      // requests that were finished after their callers had left
	Dropped     int64 `json:"dropped"`     // requests that were dropped because their callers had left
	OutOfBudget int64 `json:"outOfBudget"` // calls of any layer that ended because the budget was empty

	// Amplification is the number of requests for each operation: Offered/Operations.
	Amplification float64 `json:"amplification"`

	Wait    Spread `json:"wait"`    // in the queue, of the requests that the server worked on
	Latency Spread `json:"latency"` // of the operations that succeeded, from their arrival

	// Recovered reports whether the server had recovered at the end: whether at least the last five bins were healthy. A
	// bin is healthy if 95 % or more of the operations that came in it were. Only bins whose last operation had time to be
	// healthy count. RecoveredAfter is when the first bin of that healthy series began, counted from the Trigger's end
	// (At+For); 0 is at once.
	Recovered      bool          `json:"recovered"`
	RecoveredAfter time.Duration `json:"recoveredAfter"`

	Flow Flow `json:"flow"`
}

const (
	healthyShare = 0.95
	healthyBins  = 5
)

// Flow is an Overload over time: entry i is for the time [i·Bin, (i+1)·Bin).
type Flow struct {
	Bin       time.Duration `json:"bin"`
	Arrived   []int64       `json:"arrived"`   // operations that arrived then
	Healthy   []int64       `json:"healthy"`   // operations that arrived then and were healthy
	Succeeded []int64       `json:"succeeded"` // operations that succeeded then: the goodput
	Offered   []int64       `json:"offered"`   // requests that reached the server
	Refused   []int64       `json:"refused"`   // requests that found the queue full
	Wasted    []int64       `json:"wasted"`    // requests that the server finished after their callers had left
	Queue     []int64       `json:"queue"`     // the maximum of requests in the queue
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

// bump counts one in the bin of a time.
func (f *Flow) bump(counts []int64, at time.Duration) { counts[at/f.Bin]++ }

// queue records that n requests waited in the queue between two times.
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

// recovered returns how long after the trigger's end the last series of healthy bins begins. Bins that end after last
// do not count.
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
