package ring_test

import (
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/ring"
)

// A ring of any size holds the last values, and returns the others in order.
func TestRing(t *testing.T) {
	for size := range 5 {
		r := ring.New[int](size)
		for v := range 12 {
			oldest, full := r.Put(v)
			if full != (v >= size) || full && oldest != v-size {
				t.Errorf("size %d: Put(%d) returned %d, %v", size, v, oldest, full)
			}
			var want []int
			for w := max(0, v+1-size); w <= v; w++ {
				want = append(want, w)
			}
			got := r.Values()
			if !slices.Equal(got, want) {
				t.Errorf("size %d: it holds %v, want %v", size, got, want)
			}
			clear(got) // does not change the ring
		}
	}
}
