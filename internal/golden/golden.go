// Package golden provides the process-wide golden-ratio sequence that places the operations of a tiled backoff evenly.
//
// The k-th number is frac(start + k·0.6180339887…), where start is drawn once per process. Any number of consecutive
// numbers divides [0,1) into gaps of at most three lengths (the three-distance theorem). So operations that fail
// together spread evenly, without knowing how many they are.
package golden

import (
	"math/rand/v2"
	"sync/atomic"
)

// step is the golden ratio's fraction, 0.6180339887…, times 2^64. Adding it in wrapping 64-bit arithmetic adds the ratio
// modulo 1, without an error that grows with k. It is odd, so the sequence has the full period of 2^64.
const step = 0x9E3779B97F4A7C15

// sequence is one golden-ratio sequence. The zero sequence starts at 0.
type sequence struct{ at atomic.Uint64 }

// next returns the sequence's next number in [0,1).
func (s *sequence) next() float64 {
	return float64(s.at.Add(step)>>11) / (1 << 53)
}

var process sequence

func init() { process.at.Store(rand.Uint64()) }

// Next returns the next number of the process's sequence, in [0,1). It is safe for concurrent use and takes no lock.
func Next() float64 { return process.next() }
