package stream

import "context"

// TakeLast returns the stream of the last n values, or of all if there are fewer, delivered when s has ended. A failure
// is returned without them. It holds n values. TakeLast(0) does not run the source at all; a negative n panics.
//
//	source:       --a--b--c--|
//	TakeLast(2):  -----------(bc|)
func (s Stream[T]) TakeLast(n int) Stream[T] {
	s.require("TakeLast")
	requireMin("TakeLast: n", n, 0)
	if n == 0 {
		return Empty[T]()
	}
	return func(ctx context.Context, yield func(T) bool) error {
		last := ring[T]{size: n}
		err := s(ctx, func(v T) bool {
			last.put(v)
			return true
		})
		if err != nil {
			return err
		}
		return FromSlice(last.values())(ctx, yield)
	}
}

// ring holds the last size values that were put into it.
type ring[T any] struct {
	size int
	held []T
	next int // where the oldest is once it is full
}

// put adds v and returns the value that leaves for it, if it was full.
func (r *ring[T]) put(v T) (oldest T, full bool) {
	if len(r.held) < r.size {
		r.held = append(r.held, v)
		return oldest, false
	}
	oldest, r.held[r.next] = r.held[r.next], v
	r.next = (r.next + 1) % r.size
	return oldest, true
}

// values returns what it holds, the oldest first.
func (r *ring[T]) values() []T {
	return append(r.held[r.next:], r.held[:r.next]...)
}
