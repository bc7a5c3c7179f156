package retry

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Budget is a token bucket that many policies share. It limits the load that retries add to a server that is down: each
// retry takes the cost from it, each success adds the refund, and an operation gives up with ErrBudget if too little is
// left for a retry. A budget begins full and never holds more than its capacity. It is safe for concurrent use.
//
// With cost 1 and refund r, retries are at most the fraction r of the successes once the capacity is spent. A success
// is:
//
//   - of Do, Run, operators.MapRetry and retryhttp: a call that returns no error;
//   - of Attempts: a turn that ends without an error, or in which Reset is called;
//   - of a stream: each value that an attempt delivers, however the attempt ends, unless it panics. Values count before
//     the policy decides about the attempt's failure. An end without an error and without a value counts as one.
//
// So a feed of 1,000 values per attempt earns 1,000 refunds per attempt, and a call one: a budget should not be shared
// by a stream and calls. If the policy is in a function, or embedded in a handler, values count from the attempt
// after the first failure that the policy receives. Two policies of one handler with one budget refund it once.
//
// A budget that is spent makes operations end at once, with ErrBudget. So a loop of your own around the operation needs
// a wait, or it calls a server that is down without a pause. An outer policy without a limit and without a budget is
// such a loop: see the Example of WithBudget.
type Budget struct {
	capacity, cost, refund float64

	mu               sync.Mutex
	tokens           float64
	refill           float64
	filled           time.Time // when the refill was last computed
	flows            bool      // filled is set
	granted, refused int64
}

// NewBudget returns a full budget: a retry takes cost, and a success adds refund. See Budget for what a success is. All
// arguments must be finite and at least 0, capacity at least cost, and cost more than 0; otherwise NewBudget panics.
//
// A budget is in the memory of one process, and each process has its own. After a stall the server must serve all the
// retries that these budgets allow: 200 processes with 10 retries each send 2,000, which take 100 s if it can serve 20
// per second beyond its load. In many processes take a capacity of one or two retries.
func NewBudget(capacity, cost, refund float64) *Budget {
	notLess("NewBudget", "capacity", capacity)
	notLess("NewBudget", "cost", cost)
	notLess("NewBudget", "refund", refund)
	if why := budgetWrong(capacity, cost); why != "" {
		panicf("NewBudget", "%s", why)
	}
	return &Budget{capacity: capacity, cost: cost, refund: refund, tokens: capacity}
}

// budgetWrong returns what is wrong with the two numbers together, or "".
func budgetWrong(capacity, cost float64) string {
	if cost == 0 {
		return "cost is 0, want more: retries that cost nothing need no budget"
	}
	if capacity < cost {
		return fmt.Sprintf("capacity is %v, want at least the cost of one retry, %v", capacity, cost)
	}
	return ""
}

// Clone returns a budget of its own with the settings and the tokens that b has now. Its Stats begin at 0.
func (b *Budget) Clone() *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Budget{capacity: b.capacity, cost: b.cost, refund: b.refund, refill: b.refill, tokens: b.tokens}
}

// text is the value of the text form's word.
func (b *Budget) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf("%v,%v,%v", b.capacity, b.cost, b.refund)
	if b.refill > 0 {
		text += fmt.Sprintf(",%v", b.refill)
	}
	return text
}

// Refill makes perSecond tokens flow into b each second, by the clocks of the policies that use it, and returns b. The
// flow begins with the first retry after the call. It replaces the rate set before. A negative rate, NaN and infinity
// panic.
func (b *Budget) Refill(perSecond float64) *Budget {
	notLess("Budget.Refill", "perSecond", perSecond)
	b.mu.Lock()
	b.refill, b.flows = perSecond, false
	b.mu.Unlock()
	return b
}

func notLess(where, name string, value float64) {
	if !(value >= 0) || math.IsInf(value, 1) {
		panicf(where, "%s is %v, want a finite number of at least 0", name, value)
	}
}

// Add adds tokens to the budget, up to its capacity. A negative number removes tokens, down to none. It is for a budget
// whose tokens come from elsewhere, for example from a budget that a fleet of processes shares. NaN and infinity panic.
func (b *Budget) Add(tokens float64) {
	if math.IsNaN(tokens) || math.IsInf(tokens, 0) {
		panicf("Budget.Add", "tokens is %v, want a finite number", tokens)
	}
	b.add(tokens)
}

func (b *Budget) add(tokens float64) {
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

// Tokens returns the number of tokens in the budget, without the refill since the last retry.
func (b *Budget) Tokens() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

// String returns the number of tokens in the budget, and its settings.
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
		if passed := at.Sub(b.filled); !b.flows {
			b.flows, b.filled = true, at
		} else if passed > 0 { // clocks that disagree refill nothing
			b.tokens = min(b.capacity, b.tokens+b.refill*passed.Seconds())
			b.filled = at
		}
	}
	// One part in 10⁹ may be missing: ten refunds of 0.1 add up to a little less than 1.
	if b.tokens < b.cost*(1-1e-9) {
		b.refused++
		return false
	}
	b.granted++
	b.tokens = max(0, b.tokens-b.cost)
	return true
}
