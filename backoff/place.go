package backoff

// place says where u comes from.
type place uint8

const (
	drawn   place = iota // each delay draws it, or whoever asks gives it
	keyed                // Keyed
	ordinal              // Ordinal
)

// Keyed returns a Backoff whose u is a hash of key, the same for every n. At,
// After and Dictated ignore the u that they are given, so the delays of one
// key are always the same ones. Those of many keys spread as random draws do,
// whatever the keys are: 1, 2, 3 too. Where the members of a fleet are numbered,
// Ordinal spreads them better. Keyed replaces Ordinal.
func (b Backoff) Keyed(key uint64) Backoff {
	b.place, b.key = keyed, key
	return b
}

// Ordinal returns a Backoff for member i of a fleet whose members are numbered
// 0, 1, 2 … without large gaps: pods of a StatefulSet, shards, partitions. Its
// u is frac(½ + i·φ), φ = 0.6180339887…, the same for every n, so the members
// get the even places that one process gives its operations: any run of
// consecutive numbers divides [0,1) into gaps of at most three lengths. At,
// After and Dictated ignore the u that they are given. Ordinal replaces Keyed.
//
// With Tiled, members that fail together then retry at an even load, as the
// operations of one process do; Keyed would place them by chance. Ordinal(0) has
// u = ½, for under jitter.Full u = 0 would never wait.
func (b Backoff) Ordinal(i uint64) Backoff {
	b.place, b.key = ordinal, i
	return b
}

// placed returns the u of Keyed and Ordinal, or else u.
func (b *Backoff) placed(u float64) float64 {
	switch b.place {
	case keyed:
		return unit(mix(b.key + golden))
	case ordinal:
		return unit(1<<63 + b.key*golden)
	}
	return u
}
