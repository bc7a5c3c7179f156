package streamtest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Hot returns a source that does what the diagram says whether or not anybody is subscribed, from now on; "^" marks
// the instant now, and what stands before it is past: "--a--^--b--|". Who subscribes gets what happens from then on, and
// the end, if it has ended. What happens at the instant 0 reaches those who subscribe before any time has passed. Values
// and errors are as for [Cold].
//
// A subscriber that is busy with a value gets the next ones when it no longer is: they are queued for it, without bound.
func Hot[T any](s *Session, diagram string, values ...map[string]T) *Source[T] {
	s.report.Helper()
	all := scripts(s, "Hot", true, diagram, values)
	if len(all) > 1 {
		s.report.Fatalf("streamtest: Hot: %d diagrams, want 1: a hot source happens once", len(all))
	}
	h := &hot[T]{script: all[0]}
	h.schedule(s.source())
	return &Source[T]{session: s, stream: h.run, from: time.Now()}
}

// hot is what a hot source and its subscribers share.
type hot[T any] struct {
	script[T]

	mu        sync.Mutex
	happened  int // marks so far
	listeners []*listener[T]
}

// listener is one subscription to a hot source.
type listener[T any] struct {
	queue []T
	news  chan struct{}
}

// schedule has everything from the instant 0 on happen at its time.
func (h *hot[T]) schedule(clock handClock) {
	for h.happened < len(h.marks) && h.marks[h.happened].at < 0 {
		h.happened++
	}
	for i := h.happened; i < len(h.marks); i++ {
		if i > 0 && h.marks[i].at == h.marks[i-1].at {
			continue
		}
		at := h.marks[i].at
		clock.arm(at, func() { h.happen(at) })
	}
}

// happen does what is due at an instant.
func (h *hot[T]) happen(at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.happened < len(h.marks) && h.marks[h.happened].at == at {
		i := h.happened
		h.happened++
		for _, l := range h.listeners {
			if h.marks[i].kind == value {
				l.queue = append(l.queue, h.values[i])
			}
			select {
			case l.news <- struct{}{}:
			default:
			}
		}
	}
}

// run is one subscription.
func (h *hot[T]) run(ctx context.Context, yield func(T) bool) error {
	l := &listener[T]{news: make(chan struct{}, 1)}
	h.mu.Lock()
	h.listeners = append(h.listeners, l)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.listeners = slices.DeleteFunc(h.listeners, func(other *listener[T]) bool { return other == l })
	}()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, ok, over, err := h.take(l)
		switch {
		case ok:
			if !yield(v) {
				return nil
			}
		case over:
			return err
		default:
			select {
			case <-l.news:
			case <-ctx.Done():
			}
		}
	}
}

// take returns the next value for l, or whether the source is over, and the error it has ended with.
func (h *hot[T]) take(l *listener[T]) (v T, ok, over bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(l.queue) > 0 {
		v = l.queue[0]
		l.queue = l.queue[1:]
		return v, true, false, nil
	}
	if h.happened == 0 {
		return v, false, false, nil
	}
	switch h.marks[h.happened-1].kind {
	case ended:
		return v, false, true, nil
	case failed:
		return v, false, true, ErrDiagram
	}
	return v, false, false, nil
}
