package mapretry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type intResult = result[int, int]

func TestResults_ComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range rapid.IntRange(1, 100).Draw(t, "n") {
				yield(i)
			}
		})).Draw(t, "order")
		s := results[int, int]{late: make(map[int64]intResult)}
		there := make([]bool, len(order)+1)
		for n, i := range order {
			s.put(&intResult{seq: int64(i), value: i})
			there[i] = true
			inTurn := slices.Index(there, false)
			if len(s.ready) != inTurn || len(s.late) != n+1-inTurn {
				t.Fatalf("after %v: %d ready, %d held, want %d ready", order[:n+1], len(s.ready), len(s.late), inTurn)
			}
			var all []int
			for _, r := range s.rest() {
				all = append(all, r.value)
			}
			slices.Sort(all)
			if want := slices.Sorted(slices.Values(order[:n+1])); !slices.Equal(all, want) {
				t.Fatalf("all are %v, want %v", all, want)
			}
		}
		for i, r := range s.ready {
			if r.value != i {
				t.Fatalf("result %d is %d", i, r.value)
			}
		}
	})
}

func TestResults_InTurnTakeNoMemory(t *testing.T) {
	s := results[int, int]{late: make(map[int64]intResult)}
	r := new(intResult)
	if n := testing.AllocsPerRun(100, func() {
		s.put(r)
		r.seq++
		s.ready = s.ready[:0]
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
