package streamtest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// Cold returns the source that a marble diagram describes: each run of it does what the diagram says, from the instant
// of the run. A text of several lines has one diagram for each run; the last one is for all further runs:
//
//	src := streamtest.Cold[string](s, `
//		--a--#
//		--b--#
//		--c--|`)
//
// Letters are the values of a source of strings, digits those of a source of integers; [ColdWith] gives them other
// values. "#" is ErrDiagram, see [Source.Errors]. A diagram without an end never ends. A value whose time has passed
// while the consumer was busy comes when the consumer is ready.
//
// The times are those of the bubble, whatever clock the run's context carries. At one instant, the order is: first the
// sources, earlier sources before later ones and earlier runs of a source before later runs; then everything armed for
// that instant on the session's clock.
func Cold[T any](s *Session, diagrams string) *Source[T] {
	s.report.Helper()
	return ColdWith[T](s, diagrams, nil)
}

// ColdWith is [Cold] with a value for each letter. A letter without a value is its own value.
func ColdWith[T any](s *Session, diagrams string, values map[string]T) *Source[T] {
	s.report.Helper()
	all := parse(s, "Cold", diagrams, values)
	clock := s.source()
	var runs atomic.Int64
	return Probe(s, func(ctx context.Context, yield func(T) bool) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clock := clock
		clock.Run = int(runs.Add(1))
		return play(ctx, clock, all[min(clock.Run, len(all))-1], yield)
	})
}

// parse reads the diagrams of a text. If it cannot, the test fails.
func parse[T any](s *Session, name, diagrams string, values map[string]T) (all []marble.Diagram[T]) {
	s.report.Helper()
	for _, line := range marble.Lines(diagrams) {
		d, err := marble.Parse(line, name == "Hot", values, ErrDiagram)
		if err != nil {
			s.report.Fatalf("streamtest: %s: %v", name, err)
		}
		all = append(all, d)
	}
	return all
}

// play runs a diagram from now on.
func play[T any](ctx context.Context, clock virtual.View, d marble.Diagram[T], yield func(T) bool) error {
	start, wait := clock.Now(), timer.New(clock)
	for _, e := range d.Events {
		if wait.Wait(ctx, e.At-clock.Now().Sub(start)) != nil {
			return context.Cause(ctx)
		}
		if e.Kind != marble.Value {
			return e.Err
		}
		if !yield(e.Value) {
			return nil
		}
	}
	return stream.Never[T]()(ctx, yield)
}

// Hot returns a source that does what the diagram says from now on, whether or not anybody is subscribed. "^" marks the
// current instant, and everything before it is past: "--a--^--b--|". A subscriber receives what happens from its
// subscription on, and the end if the source has ended. Events at the instant 0 reach those who subscribe before any
// time has passed. Values and errors are as for [Cold].
//
// Events that come while a subscriber is busy with a value are queued for it, without limit.
func Hot[T any](s *Session, diagram string) *Source[T] {
	s.report.Helper()
	return HotWith[T](s, diagram, nil)
}

// HotWith is [Hot] with a value for each letter. A letter without a value is its own value.
func HotWith[T any](s *Session, diagram string, values map[string]T) *Source[T] {
	s.report.Helper()
	all := parse(s, "Hot", diagram, values)
	if len(all) > 1 {
		s.report.Fatalf("streamtest: Hot: %d diagrams, want 1: a hot source happens once", len(all))
	}
	h := &hot[T]{events: all[0].Events, news: make(chan struct{})}
	h.schedule(s.source())
	return Probe(s, h.run)
}

// hot is what a hot source and its subscribers share.
type hot[T any] struct {
	events []marble.Event[T]

	mu       sync.Mutex
	happened int           // events so far
	news     chan struct{} // closed when more has happened
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
		h.happened++
	}
	close(h.news)
	h.news = make(chan struct{})
}

// now returns the number of events so far, and the channel that is closed when there are more.
func (h *hot[T]) now() (happened int, news <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.happened, h.news
}

// run is one subscription.
func (h *hot[T]) run(ctx context.Context, yield func(T) bool) error {
	next, _ := h.now()
	if next > 0 && h.events[next-1].Kind != marble.Value {
		next-- // the end is for late subscribers too
	}
	for ctx.Err() == nil {
		happened, news := h.now()
		if next == happened {
			select {
			case <-news:
			case <-ctx.Done():
			}
			continue
		}
		switch e := h.events[next]; {
		case e.Kind != marble.Value:
			return e.Err
		case !yield(e.Value):
			return nil
		}
		next++
	}
	return context.Cause(ctx)
}
