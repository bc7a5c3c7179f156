package sim

import "fmt"

// Budget is the retry.Budget that the clients of an Outage share: each retry takes Cost, and where there is less the
// client gives up; each success gives Refund back. It is full at first and never holds more than its Capacity.
type Budget struct {
	Capacity float64 `json:"capacity"` // at least Cost
	Cost     float64 `json:"cost"`     // more than 0, and enough to make a float64 of the Capacity less
	Refund   float64 `json:"refund"`
	Refill   float64 `json:"refill"` // tokens that flow in, a second
}

// most is the most of anything that a Budget holds: whole numbers are exact up to there.
const most = 1e15

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
