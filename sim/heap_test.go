package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The events come in order, whatever the order in which they were scheduled.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var (
			h    heap[event]
			want []event
		)
		remove := func(e event) event {
			i := slices.IndexFunc(want, func(w event) bool { return w.at == e.at && w.mark == e.mark })
			want = slices.Delete(want, i, i+1)
			return slices.MinFunc(append([]event{e}, want...), func(a, b event) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.mark, b.mark))
			})
		}
		for i := range 300 {
			e := event{at: time.Duration(rng.IntN(40)), mark: int64(i)}
			switch rng.IntN(3) {
			case 0:
				if len(h) > 0 {
					first := h[0]
					if got := h.pop(); got != first || remove(got) != got {
						t.Fatalf("round %d: pop returns %v, which is not the first", round, got)
					}
				}
			case 1:
				if len(h) > 0 {
					if first := h[0]; remove(first) != first {
						t.Fatalf("round %d: %v is not the first", round, first)
					}
					h.replace(e)
					want = append(want, e)
				}
			default:
				h.push(e)
				want = append(want, e)
			}
			if len(h) != len(want) {
				t.Fatalf("round %d: the heap has %d events, want %d", round, len(h), len(want))
			}
		}
	}
}
