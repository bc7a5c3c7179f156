package retry

import (
	"math/rand/v2"
	"sync/atomic"
)

// goldenSequence places the operations of a tiled backoff evenly.
//
// Its k-th number is frac(start + k·0.6180339887…). Any number of consecutive numbers divides [0,1) into gaps of at most
// three lengths (the three-distance theorem). So operations that fail together spread evenly, without knowing how many
// they are. The zero sequence starts at 0.
type goldenSequence struct{ at atomic.Uint64 }

// goldenStep is the golden ratio's fraction, 0.6180339887…, times 2^64. Adding it in wrapping 64-bit arithmetic adds the
// ratio modulo 1, without an error that grows with k. It is odd, so the sequence has the full period of 2^64.
const goldenStep = 0x9E3779B97F4A7C15

// next returns the sequence's next number in [0,1). It is safe for concurrent use and takes no lock.
func (s *goldenSequence) next() float64 {
	return float64(s.at.Add(goldenStep)>>11) / (1 << 53)
}

// places is the process's sequence. It starts anywhere.
var places goldenSequence

func init() { places.at.Store(rand.Uint64()) }
