package streamtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
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
	return newCold[T](s, "Cold", diagrams, nil)
}

// ColdWith is [Cold] with a value for each letter. A letter without a value is its own value.
func ColdWith[T any](s *Session, diagrams string, values map[string]T) *Source[T] {
	s.report.Helper()
	return newCold(s, "ColdWith", diagrams, values)
}

func newCold[T any](s *Session, name, diagrams string, values map[string]T) *Source[T] {
	s.report.Helper()
	all := parse(s, name, false, diagrams, values)
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
func parse[T any](s *Session, name string, hot bool, diagrams string, values map[string]T) (all []marble.Diagram[T]) {
	s.report.Helper()
	for _, line := range marble.Lines(diagrams) {
		d, err := marble.Parse(line, hot, values, ErrDiagram)
		if err != nil {
			s.report.Fatalf("streamtest: %s: %v", name, err)
		}
		all = append(all, d)
	}
	return all
}

// play runs a diagram from now on.
func play[T any](ctx context.Context, clock virtual.View, d marble.Diagram[T], yield func(T) bool) error {
	start := clock.Now()
	for _, e := range d.Events {
		if err := sleep(ctx, clock, e.At-clock.Now().Sub(start)); err != nil {
			return err
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

// sleep waits for d, or until ctx ends, and then returns the cause.
func sleep(ctx context.Context, clock virtual.View, d time.Duration) error {
	if d > 0 {
		fired := make(chan struct{})
		timer := clock.AfterFunc(d, func() { close(fired) })
		select {
		case <-fired:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
