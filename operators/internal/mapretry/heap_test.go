package mapretry

import (
	"cmp"
	container "container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// entry is ordered by its key; n tells entries apart.
type entry struct{ key, n int }

func (e entry) Before(other entry) bool { return compare(e, other) < 0 }

func compare(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.n, b.n)) }

func TestHeap_FirstIsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			h    heap[entry]
			want []entry
		)
		pop := func() {
			first := h[0]
			if got := h.Pop(); got != want[0] || first != want[0] {
				t.Fatalf("h[0] is %v and Pop returns %v, want %v", first, got, want[0])
			}
			want = want[1:]
		}
		for n := range rapid.IntRange(0, 100).Draw(t, "steps") {
			switch {
			case len(h) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0:
				pop()
			case rapid.IntRange(0, 9).Draw(t, "init") == 0:
				for i := range h {
					h[i].key = h[i].key * 7 % 5
					want[i].key = want[i].key * 7 % 5
				}
				slices.SortFunc(want, compare)
				h.Init()
			default:
				e := entry{rapid.IntRange(-3, 10).Draw(t, "key"), n}
				h.Push(e)
				want = append(want, e)
				slices.SortFunc(want, compare)
			}
		}
		for len(want) > 0 {
			pop()
		}
		if len(h) != 0 {
			t.Fatalf("%d elements left", len(h))
		}
	})
}

func TestHeap_KeepsNoRemovedElement(t *testing.T) {
	var h heap[pointer]
	for range 3 {
		h.Push(pointer{new(int)})
	}
	for range 3 {
		h.Pop()
	}
	for i, p := range h[:3] {
		if p.to != nil {
			t.Errorf("place %d still holds its element", i)
		}
	}
}

type pointer struct{ to *int }

func (p pointer) Before(pointer) bool { return false }

// BenchmarkHeaps compares the heap with container/heap: one op takes the first item and puts another one in.
func BenchmarkHeaps(b *testing.B) {
	for _, n := range []int{1000, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("heap/waiting=%d", n), func(b *testing.B) {
			var h heap[waiting[int]]
			hold(b, n, h.Push, h.Pop)
		})
		b.Run(fmt.Sprintf("container/heap/waiting=%d", n), func(b *testing.B) {
			h := new(standard)
			hold(b, n, func(w waiting[int]) { container.Push(h, w) }, func() waiting[int] { return container.Pop(h).(waiting[int]) })
		})
	}
}

func hold(b *testing.B, n int, put func(waiting[int]), take func() waiting[int]) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		put(waiting[int]{due: time.Duration(r.Int64N(int64(10 * time.Second))), order: uint64(i)})
	}
	for b.Loop() {
		w := take()
		w.due += time.Duration(r.Int64N(int64(10 * time.Second)))
		put(w)
	}
}

type standard []waiting[int]

func (h standard) Len() int           { return len(h) }
func (h standard) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h standard) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *standard) Push(v any)        { *h = append(*h, v.(waiting[int])) }
func (h *standard) Pop() any {
	s := *h
	w := s[len(s)-1]
	*h = s[:len(s)-1]
	return w
}
