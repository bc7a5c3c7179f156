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
	Failed      int64 `json:"failed"`      // requests that were finished while their callers waited, and failed at random
	Wasted      int64 `json:"wasted"`      // requests that were finished after their callers had left
	Dropped     int64 `json:"dropped"`     // requests that were dropped because their callers had left
	OutOfBudget int64 `json:"outOfBudget"` // calls of any layer that ended because the budget was empty

	// Amplification is the number of requests for each operation: Offered/Operations.
	Amplification float64 `json:"amplification"`

	Wait    Spread `json:"wait"`    // in the queue, of the requests that the server worked on
	Latency Spread `json:"latency"` // of the operations that succeeded, from their arrival

	Recovery Recovery      `json:"recovery"`
	End      time.Duration `json:"end"` // of the run

	HealthyWithin time.Duration `json:"healthyWithin"` // a healthy operation was answered within this time

	Flow Flow `json:"flow"`
}

// Flow is what happened in an Overload over time: entry i counts it in the time [i·Bin, (i+1)·Bin).
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
	r.End, r.HealthyWithin = s.now, s.healthy()
	r.Recovery = s.health.recovery(s.now)
	r.Flow.cut(s.now)
	return r
}

// cut removes the bins that begin at end or later.
func (f *Flow) cut(end time.Duration) {
	n := max(int((end-1)/f.Bin)+1, 1)
	for _, bins := range []*[]int64{&f.Arrived, &f.Healthy, &f.Succeeded, &f.Offered, &f.Refused, &f.Wasted, &f.Queue} {
		*bins = (*bins)[:min(n, len(*bins))]
	}
}
