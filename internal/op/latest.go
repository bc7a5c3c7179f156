package op

import "sync"

// latest is the last value of a stream. One goroutine stores it and another one reads it.
type latest[T any] struct {
	mu    sync.Mutex
	value T
	some  bool
}

func (l *latest[T]) put(v T) bool {
	l.mu.Lock()
	l.value, l.some = v, true
	l.mu.Unlock()
	return true
}

func (l *latest[T]) get() (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.some
}

// take is get, and removes the value.
func (l *latest[T]) take() (v T, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var zero T
	v, some = l.value, l.some
	l.value, l.some = zero, false
	return v, some
}
