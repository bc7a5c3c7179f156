package sim

import (
	"fmt"

	"github.com/retrywhen/retrywhen/retry"
)

// Budget holds the settings of a retry.Budget. Each run has a budget of its own, which is full at first.
type Budget struct {
	Capacity float64 `json:"capacity"` // at least Cost
	Cost     float64 `json:"cost"`     // more than 0, and large enough that the float64 Capacity-Cost is less than Capacity
	Refund   float64 `json:"refund"`
	Refill   float64 `json:"refill"` // tokens a second
}

// new returns the budget of a run.
func (b *Budget) new() *retry.Budget {
	return retry.NewBudget(b.Capacity, b.Cost, b.Refund).Refill(b.Refill)
}

// most is the maximum of a Budget's fields: a float64 is exact for whole numbers up to there.
const most = 1e15

// Check returns nil if the settings are valid, else a *FieldError.
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
	if b.Capacity-b.Cost == b.Capacity { // retries without waits would go on forever
		c.fail("Budget.Cost", b.Cost, fmt.Sprintf("large enough to reduce the Capacity, %v", b.Capacity))
	}
}
