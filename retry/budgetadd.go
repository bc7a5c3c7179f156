package retry

import "math"

// Add puts tokens into the budget, at most up to its capacity; a negative number takes tokens out, at most all. It is
// for a budget whose tokens come from elsewhere: one that a fleet of processes shares, say. NaN and infinity panic.
func (b *Budget) Add(tokens float64) {
	if math.IsNaN(tokens) || math.IsInf(tokens, 0) {
		panicf("Budget.Add", "tokens is %v, want a finite number", tokens)
	}
	b.mu.Lock()
	b.tokens = min(b.capacity, max(0, b.tokens+tokens))
	b.mu.Unlock()
}
