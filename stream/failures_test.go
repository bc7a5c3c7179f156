package stream

import "testing"

// A run that lags behind another gets every failure, in order, and not at a cost that grows with its lag.
func TestFailures_ARunLagsBehindByAMillion(t *testing.T) {
	const lag = 1_000_000
	m := new(failures)
	behind := m.enter()
	for n := 1; n <= lag; n++ {
		m.post(Failure{})
	}
	for n := 1; n <= lag; n++ {
		if f, wake, _ := m.take(behind); wake != nil || f.N != n {
			t.Fatalf("got failure %d, want %d", f.N, n)
		}
	}
	if _, wake, _ := m.take(behind); wake == nil {
		t.Error("there is one more")
	}
}
