package streamtest

import (
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/virtual"
)

// Rand returns a source of random numbers that returns the numbers u one after another, for retry.WithRand and similar
// functions. Each must be in [0, 1). It is safe for concurrent use. A call beyond the last number fails the test and
// returns 0.
func (s *Session) Rand(u ...float64) func() float64 {
	s.report.Helper()
	for i, x := range u {
		if !(x >= 0 && x < 1) {
			s.report.Fatalf("streamtest: Rand: number %d is %v, want one in [0, 1)", i+1, x)
		}
	}
	var calls atomic.Int64
	return func() float64 {
		s.report.Helper()
		n := int(calls.Add(1))
		if n > len(u) {
			s.report.Errorf("streamtest: Rand: call %d, but the test gives only %s%v", n, count(len(u), "number"), virtual.CallersOf(0))
			return 0
		}
		return u[n-1]
	}
}
