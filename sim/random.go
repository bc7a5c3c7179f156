package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
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

// operations returns the policy of each operation of a run.
type operations struct {
	policy    retry.Policy   // of all operations, or the base of each one's own
	processes []retry.Policy // of each process, if there are several
	placement Placement
	key       uint64 // of the first operation, for ByKey
}

// newOperations returns operations whose policies draw from rng.
func newOperations(policy retry.Policy, p Placement, rng *rand.Rand) operations {
	sequence, key := rng.Uint64(), rng.Uint64()
	draw := rng.Float64
	if policy.Backoff().IsTiled() && p == OneProcess { // as a process does
		draw = goldenFrom(sequence)
	}
	return operations{policy: policy.With(retry.WithRand(draw)), placement: p, key: key}
}

// divide replaces the one process by n, which take the operations in turn.
func (o *operations) divide(n int, rng *rand.Rand) {
	if o.placement != OneProcess || !o.policy.Backoff().IsTiled() {
		return // the number of processes makes no difference
	}
	for range n {
		o.processes = append(o.processes, o.policy.With(retry.WithRand(goldenFrom(rng.Uint64()))))
	}
}

// of returns the policy of an operation, by its number.
func (o *operations) of(operation int) retry.Policy {
	switch o.placement {
	case ByKey:
		return o.policy.With(retry.WithBackoff(o.policy.Backoff().Keyed(o.key + uint64(operation))))
	case ByOrdinal:
		return o.policy.With(retry.WithBackoff(o.policy.Backoff().Ordinal(uint64(operation))))
	}
	if n := len(o.processes); n > 0 {
		return o.processes[operation%n]
	}
	return o.policy
}

// operation is the retry state of an operation. It is set when the operation first fails.
type operation struct {
	policy retry.Policy
	state  retry.State
}

var failure = stream.Failure{Err: errors.New("sim: failed")}

// fail applies the policy to a failure at a time of the run.
func (o *operation) fail(at time.Duration) (time.Duration, error) {
	return o.policy.Decide(&o.state, failure, time.Time{}.Add(at), time.Time{})
}
