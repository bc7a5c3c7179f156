package streamtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/virtual"
)

// Hot returns a source that does what the diagram says from now on, whether or not anybody is subscribed. "^" marks the
// current instant, and everything before it is past: "--a--^--b--|". A subscriber receives what happens from its
// subscription on, and the end if the source has ended. Events at the instant 0 reach those who subscribe before any
// time has passed. Values and errors are as for [Cold].
//
// Events that come while a subscriber is busy with a value are queued for it, without limit.
func Hot[T any](s *Session, diagram string) *Source[T] {
	s.report.Helper()
	return newHot[T](s, "Hot", diagram, nil)
}

// HotWith is [Hot] with a value for each letter. A letter without a value is its own value.
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

// schedule schedules all events from the instant 0 on.
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

// happen runs the events of an instant.
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
