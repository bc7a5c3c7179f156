package mapretry

import (
	container "container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	generic "github.com/zyedidia/generic/heap"

	"github.com/retrywhen/retrywhen/internal/heap"
)

// BenchmarkHeaps compares the heap of the library (internal/heap) with others: one op takes the first entry and puts
// another one in.
func BenchmarkHeaps(b *testing.B) {
	for _, n := range []int{1000, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("internal/heap/waiting=%d", n), func(b *testing.B) {
			var h heap.Heap[entry]
			hold(b, n, h.Push, h.Pop)
		})
		b.Run(fmt.Sprintf("container/heap/waiting=%d", n), func(b *testing.B) {
			h := new(standard)
			hold(b, n, func(e entry) { container.Push(h, e) }, func() entry { return container.Pop(h).(entry) })
		})
		b.Run(fmt.Sprintf("zyedidia/waiting=%d", n), func(b *testing.B) {
			h := generic.New(entry.Before)
			hold(b, n, h.Push, func() entry {
				e, _ := h.Pop()
				return e
			})
		})
	}
}

func hold(b *testing.B, n int, put func(entry), take func() entry) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		put(entry{due: time.Duration(r.Int64N(int64(10 * time.Second))), turn: uint64(i)})
	}
	for b.Loop() {
		e := take()
		e.due += time.Duration(r.Int64N(int64(10 * time.Second)))
		put(e)
	}
}

// entry has the size and the order of what MapRetry's heap holds.
type entry struct {
	due  time.Duration
	turn uint64
	_    *int
}

func (e entry) Before(other entry) bool {
	if e.due != other.due {
		return e.due < other.due
	}
	return e.turn < other.turn
}

type standard []entry

func (h standard) Len() int           { return len(h) }
func (h standard) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h standard) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *standard) Push(v any)        { *h = append(*h, v.(entry)) }
func (h *standard) Pop() any {
	s := *h
	e := s[len(s)-1]
	*h = s[:len(s)-1]
	return e
}
