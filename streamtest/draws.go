package streamtest

import "sync/atomic"

// Draws returns a source of random numbers that gives the numbers u one after another, for retry.WithRand and the like.
// Each must be in [0, 1). It is safe for concurrent use. A draw too many fails the test, and is 0.
func (s *Session) Draws(u ...float64) func() float64 {
	s.report.Helper()
	for i, x := range u {
		if !(x >= 0 && x < 1) {
			s.report.Fatalf("streamtest: Draws: number %d is %v, want one in [0, 1)", i+1, x)
		}
	}
	var drawn atomic.Int64
	return func() float64 {
		s.report.Helper()
		n := int(drawn.Add(1))
		if n > len(u) {
			s.report.Errorf("streamtest: Draws: draw %d, but the test gives only %s%v", n, count(len(u), "number"), here(0))
			return 0
		}
		return u[n-1]
	}
}
