// Package ledger counts what a stream has lost and doubled.
package ledger

import (
	"fmt"
	"testing"
)

// Ledger keeps account of numbered values, in any order. It is for one goroutine.
type Ledger struct {
	seen    map[int]int
	doubled []int
}

// Enter enters the value with the number n, and returns how many different ones have come.
func (l *Ledger) Enter(n int) int {
	if l.seen == nil {
		l.seen = map[int]int{}
	}
	if l.seen[n]++; l.seen[n] > 1 {
		l.doubled = append(l.doubled, n)
	}
	return len(l.seen)
}

// Check fails the test unless the numbers from first to last have come, each once, and no others.
func (l *Ledger) Check(t *testing.T, first, last int) {
	t.Helper()
	var lost []int
	for n := first; n <= last; n++ {
		if l.seen[n] == 0 {
			lost = append(lost, n)
		}
	}
	result := fmt.Sprintf("%d values, %d lost, %d doubled", len(l.seen), len(lost), len(l.doubled))
	t.Log(result)
	if len(lost)+len(l.doubled) > 0 || len(l.seen) != last-first+1 {
		t.Errorf("%s: lost %v, doubled %v", result, lost[:min(len(lost), 20)], l.doubled[:min(len(l.doubled), 20)])
	}
}
