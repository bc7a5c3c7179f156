package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// golden is 2^64 divided by the golden ratio. Adding it in wrapping arithmetic is adding the ratio modulo 1.
const golden = 0x9E3779B97F4A7C15

// mix is the output function of splitmix64 (Steele, Lea and Flood, 2014, with Stafford's constants).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// newRand returns the source of a run. Seeds that are neighbours give sources that have nothing in common.
func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed+golden), mix(seed+golden+golden)))
}

// goldenFrom returns a golden-ratio sequence, which is what a process places its tiled operations by.
func goldenFrom(start uint64) func() float64 {
	return func() float64 {
		start += golden
		return float64(start>>11) / (1 << 53)
	}
}

// operations makes the policies of a run's operations, which decide what each does after a failure.
type operations struct {
	policy    retry.Policy   // of all, where no placement gives each its own
	processes []retry.Policy // of one process each, if there are several
	placement Placement
	key       uint64 // of the first operation, for ByKey
}

// newOperations has the policies draw from rng.
func newOperations(policy retry.Policy, p Placement, rng *rand.Rand) operations {
	sequence, key := rng.Uint64(), rng.Uint64()
	draw := rng.Float64
	if policy.Backoff().IsTiled() && p == OneProcess { // as a process does, from a start of the run's own
		draw = goldenFrom(sequence)
	}
	return operations{policy: policy.With(retry.WithRand(draw)), placement: p, key: key}
}

// divide divides the operations of one process among n, which take them in turn.
func (o *operations) divide(n int, rng *rand.Rand) {
	if o.placement != OneProcess || !o.policy.Backoff().IsTiled() {
		return // draws are as random in one process as in many
	}
	for range n {
		o.processes = append(o.processes, o.policy.With(retry.WithRand(goldenFrom(rng.Uint64()))))
	}
}

// of returns the policy of the operation of that number.
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

// operation is one that has failed: until then it needs neither.
type operation struct {
	policy retry.Policy
	state  retry.State
}

var failure = stream.Failure{Err: errors.New("sim: failed")}

// fail has the policy decide about a failure at that time of the run.
func (o *operation) fail(at time.Duration) (time.Duration, error) {
	return o.policy.Decide(&o.state, failure, time.Time{}.Add(at), time.Time{})
}
