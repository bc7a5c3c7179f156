package sim

import (
	"math/rand/v2"

	"github.com/retrywhen/retrywhen/retry"
)

// Layer is one layer of callers between the users and a server: a policy, and the number of processes that run it.
//
// Each attempt fails after the policy's AttemptTimeout, if it has one. The policy's own budget and hooks, which have no
// text form, are shared by all runs. A Budget here is new for each run and replaces the policy's budget.
type Layer struct {
	Policy    retry.Policy `json:"policy"`
	Budget    *Budget      `json:"budget"`    // for each process; nil is the policy's own, if it has one
	Processes int          `json:"processes"` // they take operations in turn; each has its own draws and budget; 0 is one, at most 10,000
}

// maxProcesses is the most processes of a Layer or an Outage.
const maxProcesses = 10_000

func (c *checker) layer(field string, l Layer) {
	c.count(field+".Processes", l.Processes, 0, maxProcesses)
	if l.Budget != nil {
		l.Budget.check(c)
	}
}

// policies returns the policy of each process.
func (l Layer) policies(rng *rand.Rand) []retry.Policy {
	all := make([]retry.Policy, max(l.Processes, 1))
	for i := range all {
		draw := rng.Float64
		if l.Policy.Backoff().IsTiled() {
			draw = goldenFrom(rng.Uint64())
		}
		all[i] = l.policy().With(retry.WithRand(draw))
	}
	return all
}

// policy returns the policy with a new budget.
func (l Layer) policy() retry.Policy {
	if l.Budget == nil {
		return l.Policy
	}
	return l.Policy.With(retry.WithBudget(l.Budget.new()))
}

// ends reports whether a limit or a budget ends the layer's retries at one instant.
func (l Layer) ends() bool {
	_, limited := l.Policy.Limit()
	return limited || l.Budget != nil
}
