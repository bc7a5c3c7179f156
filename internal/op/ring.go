package op

import "slices"

// Ring holds the last values that were put into it. Its memory grows with the values that it holds.
type Ring[T any] struct {
	size int
	held []T
	next int // index of the oldest value, once the ring is full
}

// NewRing returns a ring for up to size values.
func NewRing[T any](size int) Ring[T] { return Ring[T]{size: size} }

// Put adds v. If the ring was full, Put removes the oldest value and returns it.
func (r *Ring[T]) Put(v T) (oldest T, full bool) {
	if r.size == 0 {
		return v, true
	}
	if len(r.held) < r.size {
		r.held = append(r.held, v)
		return oldest, false
	}
	oldest, r.held[r.next] = r.held[r.next], v
	r.next = (r.next + 1) % r.size
	return oldest, true
}

// Values returns a new slice of the values, the oldest first.
func (r *Ring[T]) Values() []T { return slices.Concat(r.held[r.next:], r.held[:r.next]) }
