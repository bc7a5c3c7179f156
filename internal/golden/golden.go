// Package golden spreads numbers evenly over [0,1).
package golden

import "sync/atomic"

// Step is the golden ratio's fraction, 0.6180339887…, times 2^64. Adding it in wrapping 64-bit arithmetic adds the
// ratio modulo 1, without an error that grows with the number of steps. It is odd, so a sequence has the full period of
// 2^64.
const Step = 0x9E3779B97F4A7C15

// Unit maps 64 bits to a number in [0,1).
func Unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// Sequence is the sequence whose k-th number is frac(start + k·0.6180339887…). Any number of consecutive numbers
// divides [0,1) into gaps of at most three lengths (the three-distance theorem). So what draws from it is spread
// evenly, however many draws there are. The zero Sequence starts at 0.
type Sequence struct{ at atomic.Uint64 }

// NewSequence returns the sequence that starts at Unit(start).
func NewSequence(start uint64) *Sequence {
	s := new(Sequence)
	s.at.Store(start)
	return s
}

// Next returns the next number. It is safe for concurrent use and takes no lock.
func (s *Sequence) Next() float64 { return Unit(s.at.Add(Step)) }
