package sim

import "math/bits"

// histogram counts numbers >= 0 in buckets whose width is at most 1/128 of the numbers in them. Its memory depends on
// the range of the numbers, not on how many there are. The zero histogram is empty.
type histogram struct{ counts []int64 }

const bucketBits = 7 // the bits after a number's leading bit that select its bucket

// bucket returns the index of v's bucket. Each number below 2⁸ has its own.
func bucket(v int64) int {
	shift := max(bits.Len64(uint64(v))-bucketBits-1, 0)
	return shift<<bucketBits + int(v>>shift)
}

// middle returns the middle of a bucket.
func middle(i int) int64 {
	shift := max(i>>bucketBits-1, 0)
	least := int64(i-shift<<bucketBits) << shift
	return least + (int64(1)<<shift-1)/2
}

func (h *histogram) add(v int64) {
	i := bucket(max(v, 0))
	h.grow(i + 1)
	h.counts[i]++
}

// grow makes room for n buckets.
func (h *histogram) grow(n int) {
	if more := n - len(h.counts); more > 0 {
		h.counts = append(h.counts, make([]int64, more)...)
	}
}

// percentile returns the number that p percent of the count numbers do not exceed, with a relative error of at most
// 1/256.
func (h *histogram) percentile(p, count int) int64 {
	rank := (int64(count)*int64(p) + 99) / 100
	for i, n := range h.counts {
		if rank -= n; rank <= 0 {
			return middle(i)
		}
	}
	return 0
}
