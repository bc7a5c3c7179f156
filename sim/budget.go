package sim

import (
	"fmt"

	"github.com/retrywhen/retrywhen/retry"
)

// Budget are the settings of a retry.Budget, of which each run has its own: it is full at first.
type Budget struct {
	Capacity float64 `json:"capacity"` // at least Cost
	Cost     float64 `json:"cost"`     // more than 0, and enough to make a float64 of the Capacity less
	Refund   float64 `json:"refund"`
	Refill   float64 `json:"refill"` // tokens that flow in, a second
}

// new returns the budget of a run.
func (b *Budget) new() *retry.Budget {
	return retry.NewBudget(b.Capacity, b.Cost, b.Refund).Refill(b.Refill)
}

// most is the most of anything that a Budget holds: whole numbers are exact up to there.
const most = 1e15

// Check returns nil if the settings are those of a budget, else a *FieldError.
func (b *Budget) Check() error {
	c := checker{model: "Budget"}
	b.check(&c)
	return c.err
}

func (b *Budget) check(c *checker) {
	c.number("Budget.Capacity", b.Capacity, 0, most)
	c.number("Budget.Cost", b.Cost, 0, most)
	c.number("Budget.Refund", b.Refund, 0, most)
	c.number("Budget.Refill", b.Refill, 0, most)
	if b.Cost == 0 {
		c.fail("Budget.Cost", b.Cost, "more than 0: retries that cost nothing need no budget")
	}
	if b.Capacity < b.Cost {
		c.fail("Budget.Capacity", b.Capacity, fmt.Sprintf("at least the Cost of one retry, %v", b.Cost))
	}
	if b.Capacity-b.Cost == b.Capacity { // or retries that take no time would go on forever
		c.fail("Budget.Cost", b.Cost, fmt.Sprintf("enough to make %v less: a budget that no retry empties is none", b.Capacity))
	}
}
