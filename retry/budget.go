package retry

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Budget is a token bucket that many policies share, to bound the load that retries add to a server that is down: each
// retry takes its cost, each success gives a refund, and a retry that finds too little gives up with ErrBudget. It is
// full at first, and never holds more than its capacity. It is safe for concurrent use.
//
// With cost 1 and refund r, retries stay under the fraction r of the successes once the capacity is spent.
type Budget struct {
	capacity, cost, refund, refill float64

	mu     sync.Mutex
	tokens float64
	filled time.Time // when the refill was last reckoned
	timed  bool      // it was
}

// NewBudget returns a full budget. A retry takes cost of its capacity, a success gives refund back; with
// refillPerSecond as many tokens flow in a second, by the clocks of the policies that ask. All are finite and at least
// 0, capacity is at least cost, and cost more than 0: anything else panics.
func NewBudget(capacity, cost, refund float64, refillPerSecond ...float64) *Budget {
	b := &Budget{capacity: capacity, cost: cost, refund: refund, tokens: capacity}
	switch len(refillPerSecond) {
	case 0:
	case 1:
		b.refill = refillPerSecond[0]
	default:
		panicf("NewBudget", "refillPerSecond has %d values, want at most one", len(refillPerSecond))
	}
	for _, arg := range []struct {
		name  string
		value float64
	}{{"capacity", capacity}, {"cost", cost}, {"refund", refund}, {"refillPerSecond", b.refill}} {
		if !(arg.value >= 0) || math.IsInf(arg.value, 1) {
			panicf("NewBudget", "%s is %v, want a finite number of at least 0", arg.name, arg.value)
		}
	}
	if cost == 0 {
		panicf("NewBudget", "cost is 0, want more: retries that cost nothing need no budget")
	}
	if capacity < cost {
		panicf("NewBudget", "capacity is %v, want at least the cost of one retry, %v", capacity, cost)
	}
	return b
}

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

// Tokens returns what the budget holds, without what has flowed in since it was last asked for a retry.
func (b *Budget) Tokens() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

// String returns what the budget holds and its settings.
func (b *Budget) String() string {
	text := fmt.Sprintf("budget %.4g of %g, cost %g, refund %g", b.Tokens(), b.capacity, b.cost, b.refund)
	if b.refill > 0 {
		text += fmt.Sprintf(", %g a second", b.refill)
	}
	return text
}

// take takes the cost of one retry at the given time, or reports that there is not enough.
func (b *Budget) take(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refill > 0 {
		if passed := at.Sub(b.filled); !b.timed {
			b.timed, b.filled = true, at
		} else if passed > 0 { // clocks that disagree give nothing
			b.tokens = min(b.capacity, b.tokens+b.refill*passed.Seconds())
			b.filled = at
		}
	}
	// A part in 10⁹ may be missing: ten refunds of 0.1 add up to a little less than 1.
	if b.tokens < b.cost*(1-1e-9) {
		return false
	}
	b.tokens = max(0, b.tokens-b.cost)
	return true
}

func (b *Budget) succeeded() {
	b.mu.Lock()
	b.tokens = min(b.capacity, b.tokens+b.refund)
	b.mu.Unlock()
}
