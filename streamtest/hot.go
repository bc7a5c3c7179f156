package streamtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/streamtest/internal/virtual"
)

// Hot returns a source that does what the diagram says whether or not anybody is subscribed, from now on; "^" marks the
// instant now, and what stands before it is past: "--a--^--b--|". Who subscribes gets what happens from then on, and
// the end, if it has ended. What happens at the instant 0 reaches those who subscribe before any time has passed.
// Values and errors are as for [Cold].
//
// A subscriber that is busy with a value gets the next ones when it no longer is: they are queued for it, without
// bound.
func Hot[T any](s *Session, diagram string) *Source[T] {
	s.report.Helper()
	return newHot[T](s, "Hot", diagram, nil)
}

// HotWith is [Hot] with letters that stand for values. One that is not among them stands for itself.
func HotWith[T any](s *Session, diagram string, values map[string]T) *Source[T] {
	s.report.Helper()
	return newHot(s, "HotWith", diagram, values)
}

func newHot[T any](s *Session, name, diagram string, values map[string]T) *Source[T] {
	s.report.Helper()
	all := parse(s, name, true, diagram, values)
	if len(all) > 1 {
		s.report.Fatalf("streamtest: %s: %d diagrams, want 1: a hot source happens once", name, len(all))
	}
	h := &hot[T]{events: all[0].Events}
	h.schedule(s.source())
	return Probe(s, h.run)
}

// hot is what a hot source and its subscribers share.
type hot[T any] struct {
	events []marble.Event[T]

	mu        sync.Mutex
	happened  int // events so far
	listeners []*listener[T]
}

// listener is one subscription to a hot source.
type listener[T any] struct {
	queue []T
	news  chan struct{}
}

// schedule has everything from the instant 0 on happen at its time.
func (h *hot[T]) schedule(clock virtual.View) {
	for h.happened < len(h.events) && h.events[h.happened].At < 0 {
		h.happened++
	}
	for i := h.happened; i < len(h.events); i++ {
		at := h.events[i].At
		if i == 0 || h.events[i-1].At != at {
			clock.Arm(at, func() { h.happen(at) })
		}
	}
}

// happen does what is due at an instant.
func (h *hot[T]) happen(at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.happened < len(h.events) && h.events[h.happened].At == at {
		e := h.events[h.happened]
		h.happened++
		for _, l := range h.listeners {
			if e.Kind == marble.Value {
				l.queue = append(l.queue, e.Value)
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
		next, ok := h.take(l)
		switch {
		case ok && next.Kind != marble.Value:
			return next.Err
		case ok:
			if !yield(next.Value) {
				return nil
			}
		default:
			select {
			case <-l.news:
			case <-ctx.Done():
			}
		}
	}
}

// take returns the next event for l, if there is one.
func (h *hot[T]) take(l *listener[T]) (next marble.Event[T], ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(l.queue) > 0 {
		next.Value = l.queue[0]
		l.queue = l.queue[1:]
		return next, true
	}
	if h.happened > 0 {
		next = h.events[h.happened-1]
	}
	return next, next.Kind != marble.Value
}
