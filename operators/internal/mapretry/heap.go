package mapretry

// ordered is the constraint for elements of a heap.
type ordered[E any] interface {
	// Before reports whether the element comes before the other one.
	Before(E) bool
}

// heap is a priority queue: the first element is h[0]. An element may be changed in place if Init is called afterwards.
// Unlike container/heap it stores values without boxing.
type heap[E ordered[E]] []E

// Push adds e.
func (h *heap[E]) Push(e E) {
	*h = append(*h, e)
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.Before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
}

// Pop removes the first element and returns it. The heap must not be empty.
func (h *heap[E]) Pop() E {
	s := *h
	last := len(s) - 1
	first, e := s[0], s[last]
	clear(s[last:])
	if *h = s[:last]; last > 0 {
		h.sink(0, e)
	}
	return first
}

// Init makes a heap of elements in any order.
func (h heap[E]) Init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i, h[i])
	}
}

// sink puts e at i or below, where it belongs.
func (h heap[E]) sink(i int, e E) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Before(h[child]) {
			child++
		}
		if !h[child].Before(e) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
}
