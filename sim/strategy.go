package sim

import (
	"fmt"
	"strconv"

	"github.com/retrywhen/retrywhen/retry"
)

// Strategy is a policy with its name in tables and charts, and where its operations run.
type Strategy struct {
	Name      string       `json:"name"`
	Policy    retry.Policy `json:"policy"`
	Placement Placement    `json:"placement,omitempty"`
	Processes int          `json:"processes"` // that the operations are divided among; 0 is one, at most 10,000
}

func (c *checker) strategies(all []Strategy) {
	for i, s := range all {
		c.placed(fmt.Sprintf("Strategies[%d].", i), s.Placement, s.Processes)
	}
}

func (c *checker) placed(prefix string, p Placement, processes int) {
	c.placement(prefix+"Placement", p)
	c.count(prefix+"Processes", processes, 0, maxProcesses)
}

func (c *checker) placement(field string, p Placement) {
	if p != OneProcess && p != ByOrdinal {
		c.fail(field, strconv.Quote(string(p)), fmt.Sprintf("one of %q", []Placement{OneProcess, ByOrdinal}))
	}
}
