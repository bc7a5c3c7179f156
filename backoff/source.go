package backoff

// source is where u comes from.
type source uint8

const (
	drawn   source = iota // each delay draws it, or the caller passes it
	keyed                 // Keyed
	ordinal               // Ordinal
)

// Keyed returns a Backoff whose u is a hash of key, the same for every n. At, After and Dictated ignore their argument
// u, so the delays of one key never change. The delays of many keys spread like random draws, even for keys such as 1,
// 2, 3. If the members of a fleet are numbered, Ordinal spreads them better. Keyed replaces Ordinal.
func (b Backoff) Keyed(key uint64) Backoff {
	b.source, b.key = keyed, key
	return b
}

// Ordinal returns a Backoff for member i of a fleet whose members are numbered 0, 1, 2 … without large gaps: pods of a
// StatefulSet, shards, partitions. Its u is frac(½ + i·φ), φ = 0.6180339887…, the same for every n. So the members are
// spaced as evenly as the operations of one process: any run of consecutive numbers divides [0,1) into gaps of at most
// three lengths. At, After and Dictated ignore their argument u. Ordinal replaces Keyed.
//
// With Tiled, members that fail together retry at an even load, like the operations of one process; Keyed would place
// them at random. Ordinal(0) has u = ½, because under jitter.Full u = 0 would never wait.
func (b Backoff) Ordinal(i uint64) Backoff {
	b.source, b.key = ordinal, i
	return b
}

// ownDraw returns the u of Keyed or Ordinal, or else its argument u.
func (b *Backoff) ownDraw(u float64) float64 {
	switch b.source {
	case keyed:
		return unit(mix(b.key + golden))
	case ordinal:
		return unit(1<<63 + b.key*golden)
	}
	return u
}

// golden is the golden ratio's fraction, 0.6180339887…, times 2^64, and the step of splitmix64. Adding it in wrapping
// arithmetic adds the ratio modulo 1.
const golden = 0x9E3779B97F4A7C15

// unit maps 64 bits to a number in [0,1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }
