package operators

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const million = 1_000_000

// BenchmarkMapRetryHeaps compares what waiting items could be kept in, at a steady number of them: one op takes the
// entry that is due first and puts another one in, up to 10 s later. The libraries' heaps are measured in the
// benchmarks module, beside container/heap again.
func BenchmarkMapRetryHeaps(b *testing.B) {
	for _, n := range []int{1000, 100_000, million} {
		for _, k := range []struct {
			name string
			make func() keeper
		}{
			{"binary", func() keeper { return new(binary) }},
			{"4-ary", func() keeper { return new(quaternary) }},
			{"container/heap", func() keeper { return new(standard) }},
			{"container/heap of pointers", func() keeper { return new(pointers) }},
			{"wheel of 1 ms", func() keeper { return newWheel() }},
		} {
			b.Run(fmt.Sprintf("%s/waiting=%d", k.name, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				h := k.make()
				for i := range n {
					h.put(dueEntry{at: r.Int64N(int64(10 * time.Second)), turn: uint32(i)})
				}
				turn := uint32(n)
				for b.Loop() {
					e := h.take()
					turn++
					h.put(dueEntry{at: e.at + r.Int64N(int64(10*time.Second)), turn: turn})
				}
			})
		}
	}
}

// keeper keeps entries by the time they are due.
type keeper interface {
	put(dueEntry)
	take() dueEntry
}

type binary struct{ h dueHeap }

func (b *binary) put(e dueEntry) { b.h.push(e) }

func (b *binary) take() dueEntry {
	e := b.h[0]
	b.h.pop()
	return e
}

// quaternary is dueHeap with four children.
type quaternary struct{ s []dueEntry }

func (q *quaternary) put(e dueEntry) {
	q.s = append(q.s, e)
	i := len(q.s) - 1
	for i > 0 && e.before(q.s[(i-1)/4]) {
		q.s[i] = q.s[(i-1)/4]
		i = (i - 1) / 4
	}
	q.s[i] = e
}

func (q *quaternary) take() dueEntry {
	root, last := q.s[0], len(q.s)-1
	e := q.s[last]
	q.s = q.s[:last]
	i := 0
	for {
		first := 4*i + 1
		if first >= last {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, last); c++ {
			if q.s[c].before(q.s[least]) {
				least = c
			}
		}
		if !q.s[least].before(e) {
			break
		}
		q.s[i] = q.s[least]
		i = least
	}
	if last > 0 {
		q.s[i] = e
	}
	return root
}

// standard is container/heap on the entries.
type standard struct{ s []dueEntry }

func (h *standard) Len() int           { return len(h.s) }
func (h *standard) Less(i, j int) bool { return h.s[i].before(h.s[j]) }
func (h *standard) Swap(i, j int)      { h.s[i], h.s[j] = h.s[j], h.s[i] }
func (h *standard) Push(v any)         { h.s = append(h.s, v.(dueEntry)) }
func (h *standard) Pop() any {
	last := len(h.s) - 1
	e := h.s[last]
	h.s = h.s[:last]
	return e
}
func (h *standard) put(e dueEntry) { heap.Push(h, e) }
func (h *standard) take() dueEntry { return heap.Pop(h).(dueEntry) }

// pointers is container/heap as its own example has it.
type pointers struct{ s []*dueEntry }

func (h *pointers) Len() int           { return len(h.s) }
func (h *pointers) Less(i, j int) bool { return h.s[i].before(*h.s[j]) }
func (h *pointers) Swap(i, j int)      { h.s[i], h.s[j] = h.s[j], h.s[i] }
func (h *pointers) Push(v any)         { h.s = append(h.s, v.(*dueEntry)) }
func (h *pointers) Pop() any {
	last := len(h.s) - 1
	e := h.s[last]
	h.s[last] = nil
	h.s = h.s[:last]
	return e
}
func (h *pointers) put(e dueEntry) { heap.Push(h, &e) }
func (h *pointers) take() dueEntry { return *heap.Pop(h).(*dueEntry) }

// wheel is a hashed timing wheel whose places are 1 ms wide and reach 16 s. What is due within the same millisecond comes
// in any order, and a timer per millisecond has to look at places that may be empty: it is here for its speed alone.
type wheel struct {
	places [1 << 14][]dueEntry
	at     int64
}

func newWheel() *wheel { return new(wheel) }

func (w *wheel) put(e dueEntry) {
	p := &w.places[(e.at/int64(time.Millisecond))%int64(len(w.places))]
	*p = append(*p, e)
}

func (w *wheel) take() dueEntry {
	for {
		p := &w.places[w.at%int64(len(w.places))]
		if last := len(*p) - 1; last >= 0 {
			e := (*p)[last]
			*p = (*p)[:last]
			return e
		}
		w.at++
	}
}
