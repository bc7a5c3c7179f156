package operators

import "iter"

// queue is a first-in-first-out queue that grows as it must.
type queue[T any] struct {
	ring  []T // its length is a power of two
	first int
	n     int
}

func (q *queue[T]) len() int { return q.n }

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(4, 2*q.n))
		for i := range q.n {
			ring[i] = q.ring[(q.first+i)&(q.n-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = v
	q.n++
}

// pop removes the first value. There must be one.
func (q *queue[T]) pop() (v T) {
	v, q.ring[q.first] = q.ring[q.first], v
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

func (q *queue[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range q.n {
			if !yield(q.ring[(q.first+i)&(len(q.ring)-1)]) {
				return
			}
		}
	}
}
