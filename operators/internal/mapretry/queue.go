package mapretry

// queue is a first-in-first-out queue. The zero queue is empty.
type queue[T any] struct {
	values []T // values before first were removed
	first  int
}

func (q *queue[T]) len() int { return len(q.values) - q.first }

func (q *queue[T]) push(v T) {
	if len(q.values) == cap(q.values) && q.first > len(q.values)/2 {
		n := copy(q.values, q.values[q.first:])
		clear(q.values[n:])
		q.values, q.first = q.values[:n], 0
	}
	q.values = append(q.values, v)
}

// pop removes the first value. There must be one.
func (q *queue[T]) pop() (v T) {
	v, q.values[q.first] = q.values[q.first], v
	if q.first++; q.first == len(q.values) {
		q.values, q.first = q.values[:0], 0
	}
	return v
}

// all returns the values.
func (q *queue[T]) all() []T { return q.values[q.first:] }
