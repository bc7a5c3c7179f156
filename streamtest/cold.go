package streamtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Cold returns the stream that a marble diagram shows: each run of it does what the diagram says, from the instant it
// is run. A text of several lines has a diagram for each run, and the last one for all further runs:
//
//	src := streamtest.Cold(s, `
//		--a--#
//		--b--#
//		--c--|`, values)
//
// The letters stand for the given values. One that has none stands for itself in a stream of strings
// (Cold[string](s, "--a--|")), and a digit for its number in one of integers. "#" stands for ErrDiagram, see [Errors]. A diagram without an end goes on for ever
// and does nothing. A value whose time has passed while the consumer was busy comes when it no longer is.
//
// The times are those of the session's mock clock, whatever clock the run's context carries. What sources do at an
// instant comes before all that is armed for it, what earlier sources do before what later ones do, and what an earlier
// run of one source does before what a later run does.
func Cold[T any](s *Session, diagrams string, values ...map[string]T) stream.Stream[T] {
	s.report.Helper()
	scripts := scripts(s, "Cold", false, diagrams, values)
	clock := s.source()
	var runs atomic.Int64
	return func(ctx context.Context, yield func(T) bool) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clock := clock
		clock.run = int(runs.Add(1))
		return scripts[min(clock.run, len(scripts))-1].play(ctx, clock, yield)
	}
}

// Errors returns src with its ErrDiagram replaced: the n-th run of it that fails so fails with the n-th of errs, and
// further ones with the last.
func Errors[T any](src stream.Stream[T], errs ...error) stream.Stream[T] {
	if src == nil {
		panic("streamtest: Errors: src is nil")
	}
	if len(errs) == 0 {
		panic("streamtest: Errors: no errors")
	}
	var runs atomic.Int64
	return func(ctx context.Context, yield func(T) bool) error {
		err := src(ctx, yield)
		if err == ErrDiagram {
			err = errs[min(int(runs.Add(1)), len(errs))-1]
		}
		return err
	}
}

// script is what one diagram does.
type script[T any] struct {
	diagram
	values []T
}

// scripts reads the diagrams of a text; the test fails if it cannot.
func scripts[T any](s *Session, name string, hot bool, diagrams string, values []map[string]T) (all []script[T]) {
	s.report.Helper()
	letters, err := newLetters(values)
	if err != nil {
		s.report.Fatalf("streamtest: %s: %v", name, err)
	}
	for _, line := range lines(diagrams) {
		d, err := parse(line, hot)
		if err != nil {
			s.report.Fatalf("streamtest: %s: %v", name, err)
		}
		values, err := resolve(d, letters)
		if err != nil {
			s.report.Fatalf("streamtest: %s: %v", name, err)
		}
		all = append(all, script[T]{d, values})
	}
	return all
}

// play does what the script says, from now on.
func (sc script[T]) play(ctx context.Context, clock handClock, yield func(T) bool) error {
	start := clock.Now()
	for i, m := range sc.marks {
		if err := sleep(ctx, clock, m.at-clock.Now().Sub(start)); err != nil {
			return err
		}
		switch m.kind {
		case ended:
			return nil
		case failed:
			return ErrDiagram
		}
		if !yield(sc.values[i]) {
			return nil
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// sleep waits for d, or until ctx ends, and then returns the cause.
func sleep(ctx context.Context, clock handClock, d time.Duration) error {
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
