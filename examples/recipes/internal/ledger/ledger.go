// Package ledger counts the values that a stream has lost or repeated.
package ledger

import (
	"fmt"
	"testing"
)

// Ledger records numbered values, in any order. It is for one goroutine.
type Ledger struct {
	seen       map[int]int
	duplicates []int
}

// Enter records the value with the number n, and returns how many different values it has recorded.
func (l *Ledger) Enter(n int) int {
	if l.seen == nil {
		l.seen = map[int]int{}
	}
	if l.seen[n]++; l.seen[n] > 1 {
		l.duplicates = append(l.duplicates, n)
	}
	return len(l.seen)
}

// Check fails the test unless each number from first to last was recorded once, and no other.
func (l *Ledger) Check(t *testing.T, first, last int) {
	t.Helper()
	var lost []int
	for n := first; n <= last; n++ {
		if l.seen[n] == 0 {
			lost = append(lost, n)
		}
	}
	result := fmt.Sprintf("%d values, %d lost, %d duplicates", len(l.seen), len(lost), len(l.duplicates))
	t.Log(result)
	if len(lost)+len(l.duplicates) > 0 || len(l.seen) != last-first+1 {
		t.Errorf("%s: lost %v, duplicates %v", result, lost[:min(len(lost), 20)], l.duplicates[:min(len(l.duplicates), 20)])
	}
}
