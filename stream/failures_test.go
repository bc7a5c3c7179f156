package stream

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/attempt"
)

// A run that lags behind another gets every failure, in order, and not at a cost that grows with its lag.
func TestFailures_ARunLagsBehindByAMillion(t *testing.T) {
	const lag = 1_000_000
	m := new(failures)
	behind := m.enter()
	for n := 1; n <= lag; n++ {
		m.post(&attempt.Attempt{N: n})
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

// A failure is received when a run has taken that one, not an earlier one.
func TestFailures_AnEarlierOneIsTaken(t *testing.T) {
	m := new(failures)
	run := m.enter()
	m.post(&attempt.Attempt{N: 1})
	m.post(&attempt.Attempt{N: 2})
	if m.take(run); m.answer(0) || m.answer(2) {
		t.Error("the second failure is answered before it was received")
	}
	if m.take(run); m.answer(1) || !m.answer(2) {
		t.Error("the second failure is not answered by its number, or by another one")
	}
}
