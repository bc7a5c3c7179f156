package sim

import (
	"math/rand/v2"

	"github.com/retrywhen/retrywhen/retry"
)

// Layer is one layer of callers between the users and a server: a policy, and how many processes run it.
//
// Its Policy decides as it does everywhere, and each attempt ends with a failure after the policy's AttemptTimeout, if
// it has one. What has no text form, the policy's own budget and hooks, lives across runs: a Budget here is new for
// each run, and takes the place of the policy's.
type Layer struct {
	Policy    retry.Policy `json:"policy"`
	Budget    *Budget      `json:"budget"`    // of each process; nil is none but the policy's own
	Processes int          `json:"processes"` // operations go round them, each has its own draws and budget; 0 is one, 10,000 the most
}

// maxProcesses is the most of a Layer.
const maxProcesses = 10_000

func (c *checker) layer(field string, l Layer) {
	c.count(field+".Processes", l.Processes, 0, maxProcesses)
	if l.Budget != nil {
		l.Budget.check(c)
	}
}

// policies returns that of each process.
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

// policy returns the policy with a budget of its own.
func (l Layer) policy() retry.Policy {
	if l.Budget == nil {
		return l.Policy
	}
	return l.Policy.With(retry.WithBudget(l.Budget.new()))
}

// ends reports whether the layer cannot retry at one instant forever.
func (l Layer) ends() bool {
	_, limited := l.Policy.Limit()
	return limited || l.Budget != nil
}
