package sim

import "time"

// event is what a client does next, and when. mark tells events of one instant apart, and may carry what the model
// needs to know then; who comes last.
type event struct {
	at   time.Duration
	mark int64
	who  int32
	kind int32
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.mark != f.mark {
		return e.mark < f.mark
	}
	return e.who < f.who
}

// queue is a heap of events, the first one on top: 4-ary, for half the depth of a binary one and as few cache lines.
type queue []event

// push adds e.
func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

// replace puts e in the place of the top.
func (q queue) replace(e event) {
	i := 0
	for {
		first := 4*i + 1
		if first >= len(q) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(q)); c++ {
			if q[c].before(&q[least]) {
				least = c
			}
		}
		if !q[least].before(&e) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = e
}

// pop removes the top.
func (q *queue) pop() {
	h := *q
	last := h[len(h)-1]
	*q = h[:len(h)-1]
	if len(*q) > 0 {
		q.replace(last)
	}
}
