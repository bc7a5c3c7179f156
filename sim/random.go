package sim

import (
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
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

// waits draws the delays of many operations from one backoff.
type waits struct {
	b         backoff.Backoff
	placement Placement
	rng       *rand.Rand
	kept      bool   // one u for a whole operation
	sequence  uint64 // of OneProcess
	key       uint64 // of the first operation, for ByKey
}

func newWaits(b backoff.Backoff, p Placement, rng *rand.Rand) waits {
	return waits{b: b, placement: p, rng: rng, kept: b.IsTiled(), sequence: rng.Uint64(), key: rng.Uint64()}
}

// begin returns the u of a new operation, for next.
func (w *waits) begin() float64 {
	switch {
	case !w.kept:
		return 0
	case w.placement == OneProcess:
		w.sequence += golden
		return float64(w.sequence>>11) / (1 << 53)
	}
	return w.rng.Float64()
}

// next returns the n-th delay of the operation of that number, u being what begin gave it, prev the delay before.
func (w *waits) next(operation, n int, prev time.Duration, u float64) time.Duration {
	switch {
	case w.placement == ByKey:
		return w.b.Keyed(w.key+uint64(operation)).After(n, prev, 0)
	case w.placement == ByOrdinal:
		return w.b.Ordinal(uint64(operation)).After(n, prev, 0)
	case !w.kept:
		u = w.rng.Float64()
	}
	return w.b.After(n, prev, u)
}
