package operators

// dueHeap is a binary min-heap of what waits; the zero dueHeap is empty. Entries are 16 bytes and moved into a hole
// rather than swapped. benchmarks/NOTES.md has the figures of what else it could have been.
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
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
}

// pop removes the root, which is the first entry. There must be one.
func (h *dueHeap) pop() {
	s := *h
	last := len(s) - 1
	e := s[last]
	*h = s[:last]
	if last > 0 {
		h.sink(0, e)
	}
}

// init makes a heap of entries in any order.
func (h *dueHeap) init() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sink(i, (*h)[i])
	}
}

// sink puts e where it belongs at i or below.
func (h *dueHeap) sink(i int, e dueEntry) {
	s := *h
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(e) {
			break
		}
		s[i] = s[child]
		i = child
	}
	s[i] = e
}
