package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQueueGivesEventsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func() event {
		return event{time.Duration(rng.IntN(20)), rng.Int64N(5), rng.Int32N(3), 0}
	}
	order := func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.mark, b.mark), cmp.Compare(a.who, b.who))
	}
	for size := range 100 {
		var q queue
		var want []event
		for range size {
			e := draw()
			q.push(e)
			want = append(want, e)
		}
		for range 3 * size {
			slices.SortFunc(want, order)
			if q[0] != want[0] {
				t.Fatalf("%d events: the top is %v, want %v", len(q), q[0], want[0])
			}
			if rng.IntN(2) == 0 {
				e := draw()
				q.replace(e)
				want[0] = e
			} else {
				q.pop()
				want = want[1:]
			}
			if len(q) != len(want) {
				t.Fatalf("%d events, want %d", len(q), len(want))
			}
			if len(q) == 0 {
				break
			}
		}
	}
}
