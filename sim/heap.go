package sim

// heap is a binary min-heap: the first element is h[0].
type heap[E interface{ Before(E) bool }] []E

func (h *heap[E]) push(e E) {
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

// pop removes the first element and returns it. The heap must not be empty.
func (h *heap[E]) pop() E {
	s := *h
	last := len(s) - 1
	first, e := s[0], s[last]
	if *h = s[:last]; last > 0 {
		h.replace(e)
	}
	return first
}

// replace removes the first element and adds e. The heap must not be empty.
func (h heap[E]) replace(e E) {
	i := 0
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
