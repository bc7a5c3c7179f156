// Package ring holds the last values of many.
package ring

import "slices"

// Ring holds the last values that were put into it. It takes the memory of those that it holds.
type Ring[T any] struct {
	size int
	held []T
	next int // where the oldest is once it is full
}

// New returns a ring that holds up to size values.
func New[T any](size int) Ring[T] { return Ring[T]{size: size} }

// Put adds v and returns the value that leaves for it, if it was full.
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

// Values returns what it holds, the oldest first. The slice is the caller's.
func (r *Ring[T]) Values() []T { return slices.Concat(r.held[r.next:], r.held[:r.next]) }
