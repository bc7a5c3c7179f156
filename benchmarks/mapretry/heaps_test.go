package mapretry

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	generic "github.com/zyedidia/generic/heap"
)

// BenchmarkHeaps measures a generic heap of others, beside container/heap, which the library's own benchmark
// (BenchmarkMapRetryHeaps in operators) has too: one op takes the entry that is due first and puts another one in.
// aalpar/deheap's generic heap holds ordered types only, and no entries.
func BenchmarkHeaps(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("container/heap/waiting=%d", n), func(b *testing.B) {
			h := new(standard)
			hold(b, n, func(e entry) { heap.Push(h, e) }, func() entry { return heap.Pop(h).(entry) })
		})
		b.Run(fmt.Sprintf("zyedidia/waiting=%d", n), func(b *testing.B) {
			h := generic.New(entry.before)
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
		put(entry{at: r.Int64N(int64(10 * time.Second)), turn: uint32(i)})
	}
	for b.Loop() {
		e := take()
		e.at += r.Int64N(int64(10 * time.Second))
		put(e)
	}
}

// entry is what MapRetry's heap holds.
type entry struct {
	at   int64
	turn uint32
	_    uint32 // the slot of its item
}

func (e entry) before(o entry) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	return int32(e.turn-o.turn) < 0
}

type standard []entry

func (h standard) Len() int           { return len(h) }
func (h standard) Less(i, j int) bool { return h[i].before(h[j]) }
func (h standard) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *standard) Push(v any)        { *h = append(*h, v.(entry)) }
func (h *standard) Pop() any {
	s := *h
	e := s[len(s)-1]
	*h = s[:len(s)-1]
	return e
}
