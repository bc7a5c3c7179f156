package operators

// dueHeap is a 4-ary min-heap of what waits, the first due at its root. An entry is 16 bytes, so that four children
// are one cache line: at a million entries that, not the number of comparisons, is what a pop costs.
type dueHeap []dueEntry

// dueEntry says when the item in a slot is due.
type dueEntry struct {
	at   int64  // nanoseconds since the start of the run
	turn uint32 // counts what was put aside: of two that are due together the one that waits longer is first
	slot uint32
}

func (e dueEntry) before(o dueEntry) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	return int32(e.turn-o.turn) < 0 // right when turn has wrapped around
}

func (h *dueHeap) push(e dueEntry) {
	*h = append(*h, e)
	h.up(len(*h)-1, e)
}

// pop removes the root.
func (h *dueHeap) pop() {
	s := *h
	last := len(s) - 1
	e := s[last]
	*h = s[:last]
	if last > 0 {
		h.down(0, e)
	}
}

// init makes a heap of entries in any order.
func (h *dueHeap) init() {
	for i := (len(*h)+2)/4 - 1; i >= 0; i-- {
		h.down(i, (*h)[i])
	}
}

// up puts e where it belongs between i and the root.
func (h *dueHeap) up(i int, e dueEntry) {
	s := *h
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
}

// down puts e where it belongs below i.
func (h *dueHeap) down(i int, e dueEntry) {
	s := *h
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s)); c++ {
			if s[c].before(s[least]) {
				least = c
			}
		}
		if !s[least].before(e) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = e
}
