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
	capacity, cost, refund float64

	mu               sync.Mutex
	tokens           float64
	refill           float64
	filled           time.Time // when the refill was last reckoned
	timed            bool      // it was
	granted, refused int64
}

// NewBudget returns a full budget: a retry takes cost of its capacity, a success gives refund back. All are finite and
// at least 0, capacity is at least cost, and cost more than 0: anything else panics.
func NewBudget(capacity, cost, refund float64) *Budget {
	notLess("NewBudget", "capacity", capacity)
	notLess("NewBudget", "cost", cost)
	notLess("NewBudget", "refund", refund)
	if cost == 0 {
		panicf("NewBudget", "cost is 0, want more: retries that cost nothing need no budget")
	}
	if capacity < cost {
		panicf("NewBudget", "capacity is %v, want at least the cost of one retry, %v", capacity, cost)
	}
	return &Budget{capacity: capacity, cost: cost, refund: refund, tokens: capacity}
}

// Refill lets perSecond tokens flow into b in a second, by the clocks of the policies that use it, and returns b. The
// first retry after it starts the flow. It replaces the rate that was set before; a negative rate, NaN and infinity
// panic.
func (b *Budget) Refill(perSecond float64) *Budget {
	notLess("Budget.Refill", "perSecond", perSecond)
	b.mu.Lock()
	b.refill, b.timed = perSecond, false
	b.mu.Unlock()
	return b
}

func notLess(where, name string, value float64) {
	if !(value >= 0) || math.IsInf(value, 1) {
		panicf(where, "%s is %v, want a finite number of at least 0", name, value)
	}
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

// Stats returns how many retries the budget has granted, and how many it has refused.
func (b *Budget) Stats() (granted, refused int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.granted, b.refused
}

// Tokens returns what the budget holds, without what has flowed in since the last retry.
func (b *Budget) Tokens() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

// String returns what the budget holds and its settings.
func (b *Budget) String() string {
	b.mu.Lock()
	tokens, refill := b.tokens, b.refill
	b.mu.Unlock()
	text := fmt.Sprintf("budget %.4g of %g, cost %g, refund %g", tokens, b.capacity, b.cost, b.refund)
	if refill > 0 {
		text += fmt.Sprintf(", %g a second", refill)
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
		b.refused++
		return false
	}
	b.granted++
	b.tokens = max(0, b.tokens-b.cost)
	return true
}

func (b *Budget) succeeded() {
	b.mu.Lock()
	b.tokens = min(b.capacity, b.tokens+b.refund)
	b.mu.Unlock()
}
