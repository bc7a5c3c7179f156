// Package ledger counts the values that a stream has lost or repeated.
package ledger

import "testing"

// Ledger is how often each number has come, in any order. It is for one goroutine.
type Ledger map[int]int

// Enter records the value with the number n, and returns how many different values it has recorded.
func (l Ledger) Enter(n int) int {
	l[n]++
	return len(l)
}

// Count returns the numbers from first to last that have not come, and how many values were repeated.
func (l Ledger) Count(first, last int) (lost []int, repeated int) {
	for n := first; n <= last; n++ {
		if l[n] == 0 {
			lost = append(lost, n)
		}
	}
	for _, times := range l {
		repeated += times - 1
	}
	return lost, repeated
}

// Check fails the test unless each number from first to last was recorded once, and no other.
func (l Ledger) Check(t *testing.T, first, last int) {
	t.Helper()
	lost, repeated := l.Count(first, last)
	t.Logf("%d values, %d lost, %d duplicates", len(l), len(lost), repeated)
	if len(lost)+repeated > 0 || len(l) != last-first+1 {
		t.Errorf("lost %v of %d values, and %d duplicates", lost[:min(len(lost), 20)], last-first+1, repeated)
	}
}
