package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// golden is 2^64 divided by the golden ratio. Adding it with overflow is adding the ratio modulo 1.
const golden = 0x9E3779B97F4A7C15

// mix is the output function of splitmix64 (Steele, Lea and Flood, 2014, with Stafford's constants).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// newRand returns the source of a run. Neighbouring seeds give independent sources.
func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed+golden), mix(seed+golden+golden)))
}

// goldenFrom returns a golden-ratio sequence, from which a process draws the places of its tiled operations.
func goldenFrom(start uint64) func() float64 {
	return func() float64 {
		start += golden
		return float64(start>>11) / (1 << 53)
	}
}

// process returns the policy as one process has it: with draws and a budget of its own.
func process(p retry.Policy, draw func() float64) retry.Policy {
	p = p.With(retry.WithRand(draw))
	if b, ok := p.Budget(); ok {
		p = p.With(retry.WithBudget(b.Clone()))
	}
	return p
}

// operations returns the policy of each operation of a run.
type operations struct {
	processes []retry.Policy // take the operations in turn
	takes     float64        // see Layer.FailureTakes
	placement Placement
}

// newOperations returns the operations of n processes, which draw from rng.
func newOperations(policy retry.Policy, p Placement, n int, rng *rand.Rand) operations {
	sequence, _ := rng.Uint64(), rng.Uint64()
	o := operations{placement: p}
	for range max(n, 1) {
		draw := rng.Float64
		if policy.Backoff().IsTiled() && p == OneProcess { // as a process does
			if n > 1 {
				sequence = rng.Uint64()
			}
			draw = goldenFrom(sequence)
		}
		o.processes = append(o.processes, process(policy, draw))
	}
	return o
}

// of returns the policy of an operation, by its number.
func (o *operations) of(operation int) retry.Policy {
	p := o.processes[operation%len(o.processes)]
	if o.placement == ByOrdinal {
		return p.With(retry.WithBackoff(p.Backoff().Ordinal(uint64(operation))))
	}
	return p
}

// begin gives an operation its policy, unless it has one.
func (o *operations) begin(x *operation, number int) {
	if !x.begun {
		x.policy, x.begun, x.takes = o.of(number), true, o.takes
	}
}

// succeeded refunds the budget of the operation's process.
func (o *operations) succeeded(x *operation, number int) {
	if x.begun {
		succeed(x.policy)
	} else {
		succeed(o.processes[number%len(o.processes)])
	}
}

// operation is an operation under a policy.
type operation struct {
	policy retry.Policy
	begun  bool    // policy is set
	takes  float64 // see Layer.FailureTakes
	state  retry.State
}

// errFailed is the failure of an attempt.
var errFailed = errors.New("sim: failed")

// fail applies the policy to the failure of an attempt that lasted for some time, at a time of the run.
func (o *operation) fail(err error, lasted, at time.Duration) (time.Duration, error) {
	op := o.policy.Continue(context.Background(), o.state, nil)
	if budget, ok := o.policy.Budget(); ok && o.takes > 0 {
		budget.Add(-o.takes)
		tokens := budget.Tokens()
		defer func() { budget.Add(tokens - budget.Tokens()) }()
	}
	delay, final := op.Failed(retry.Outcome{Err: err, Lasted: lasted, At: time.Unix(0, 0).Add(at)})
	o.state = op.State()
	return delay, final
}

// succeed refunds the policy's budget.
func succeed(p retry.Policy) {
	op := p.Start(context.Background())
	_ = op.Done(retry.Outcome{})
}
