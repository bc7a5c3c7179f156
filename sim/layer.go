package sim

import (
	"math/rand/v2"

	"github.com/retrywhen/retrywhen/retry"
)

// Layer is one layer of callers between the users and a server: a policy, and the number of processes that run it.
//
// Each attempt fails after the policy's AttemptTimeout, if it has one. If the policy has a budget, each process has one
// with its settings and tokens, which is new for each run. The policy's hooks are shared by all runs.
type Layer struct {
	Policy    retry.Policy `json:"policy"`
	Processes int          `json:"processes"` // they take operations in turn; each has its own draws and budget; 0 is one, at most 10,000

	// FailureTakes is the number of tokens that each failed attempt takes from the budget, before its retry is decided, as
	// gRPC's retryThrottling does. With it a retry needs the budget's cost, but does not take it; 0 is a budget as it is.
	FailureTakes float64 `json:"failureTakes,omitempty"`
}

// maxTokens is the most tokens of a FailureTakes.
const maxTokens = 1e9

// maxProcesses is the most processes of a Layer or a Strategy.
const maxProcesses = 10_000

// policies returns the policy of each process.
func (l Layer) policies(rng *rand.Rand) []retry.Policy {
	all := make([]retry.Policy, max(l.Processes, 1))
	for i := range all {
		draw := rng.Float64
		if l.Policy.Backoff().IsTiled() {
			draw = goldenFrom(rng.Uint64())
		}
		all[i] = process(l.Policy, draw)
	}
	return all
}

// ends reports whether a limit or a budget ends the policy's retries at one instant.
func ends(p retry.Policy) bool {
	_, limited := p.Limit()
	_, budgeted := p.Budget()
	return limited || budgeted
}
