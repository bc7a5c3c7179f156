// Package handoff runs sources on goroutines of their own, and passes their values one by one to the goroutine of the
// operator that consumes them. All concurrent operators of the library use it.
//
// An operator is a [Stream]: a function that is called for each run with a [Scope], which owns the goroutines. When the
// function returns, panics or calls runtime.Goexit, the scope cancels all sources that still run and waits for them. A
// [Receiver] receives from sources of one type:
//
//	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
//		in := handoff.NewReceiver[T](scope)
//		for _, source := range sources {
//			in.Start(source)
//		}
//		for open := len(sources); open > 0 && !out.Stopped(); {
//			event, err := in.Next()
//			if err != nil {
//				return err // the context has ended
//			}
//			if ended, err := event.Ended(); err != nil { // to be called first, for each event
//				return err
//			} else if ended {
//				open--
//			} else if out.Deliver(event.Value) {
//				event.From.Request()
//			}
//		}
//		return nil
//	})
//
// With a timer there is [Receiver.NextOr].
//
// The source's yield returns when the operator has called [Source.Request]. So the source is never ahead of the
// consumer, and may reuse a buffer after yield has returned. An operator that stores the value and lets the source
// continue calls Request at once. Yield returns false if the source was cancelled, or if its context ended before
// the value was received. From then on it always returns false and passes nothing.
//
// A [Buffer] receives from one source that runs ahead of the consumer. A [Task] is a function that passes no values, or
// passes them in its own way.
package handoff

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Stream returns a stream that calls run for each of its runs, with a scope of its own. If the context has ended
// already, run is not called. The stream returns when run and all sources have returned. It returns nil if the consumer
// has stopped, else run's error and, if the context has ended, its cause. If a source panicked, the stream panics with
// a *Panic. If a source called runtime.Goexit, the stream does too. A panic of run passes through unchanged.
func Stream[T any](run func(scope *Scope, out *ending.Consumer[T]) error) func(context.Context, func(T) bool) error {
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		scope := &Scope{ctx: ctx}
		defer scope.close() // for a panic of run, which takes precedence over panics of sources
		out := ending.NewConsumer(yield)
		err := run(scope, out)
		tasks := scope.close()
		for _, t := range tasks {
			t.outcome.Raise()
		}
		return out.End(ctx, scope.withFailures(err, tasks))
	}
}

// withFailures returns run's error err and, if the context has ended, the errors of all sources that report more than
// this end: the last failures of streams that were retried, for instance.
func (s *Scope) withFailures(err error, tasks []*Task) error {
	end := s.Err()
	if end == nil {
		return err
	}
	all := []error{err}
	for _, t := range tasks {
		all = append(all, t.err)
	}
	all = slices.DeleteFunc(all, func(e error) bool { return e == nil || !ending.Adds(end, e) })
	switch len(all) {
	case 0:
		return err
	case 1:
		return all[0]
	}
	return errors.Join(all...)
}

// Scope owns the goroutines of one run of an operator. It must be used on the goroutine of the run.
type Scope struct {
	ctx     context.Context
	running []*Task
	closed  []func() // of OnClosed
}

// Context returns the context of the run.
func (s *Scope) Context() context.Context { return s.ctx }

// Err returns ending.ContextError of the context of the run: nil until it ends.
func (s *Scope) Err() error { return ending.ContextError(s.ctx) }

// OnClosed calls f at the end of the run, when all sources have returned.
func (s *Scope) OnClosed(f func()) { s.closed = append(s.closed, f) }

// OnEnd calls f on a goroutine of its own when the context ends. The run waits for f.
func (s *Scope) OnEnd(f func()) {
	returned := make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		defer close(returned)
		f()
	})
	s.OnClosed(func() {
		if !stop() {
			<-returned
		}
	})
}

// Cancel cancels all sources that still run, for an operator that ends well because one of them has ended. It returns
// when they have returned, with the error of one that had failed by then. An error that matches context.Canceled does
// not count. If a source panicked, Cancel panics.
func (s *Scope) Cancel() error {
	for range 10 {
		if len(s.running) > 0 {
			// A source that fails at this instant may not have run yet. The cancel would turn its failure into the cancel's
			// error. Several turns are for one that passes operators of other goroutines. It decides a tie, nothing else.
			runtime.Gosched()
		}
	}
	for _, t := range s.cancelAllBut(nil) {
		if t.err != nil && !ending.Reaches(t.err, context.Canceled) {
			return t.err
		}
	}
	return nil
}

// cancelAllBut cancels all running tasks but one, waits for them, and returns them. If one panicked, it panics.
func (s *Scope) cancelAllBut(one *Task) []*Task {
	others := slices.DeleteFunc(slices.Clone(s.running), func(t *Task) bool { return t == one })
	s.stop(others)
	for _, t := range others {
		t.outcome.Raise()
	}
	return others
}

// stop cancels running tasks and waits for them. The scope does not own them any more.
func (s *Scope) stop(tasks []*Task) {
	for _, t := range tasks {
		s.remove(t)
		t.stop()
	}
	for _, t := range tasks {
		<-t.done
	}
}

// close cancels all running tasks, waits for them, and returns them.
func (s *Scope) close() []*Task {
	tasks, closed := s.running, s.closed
	s.running, s.closed = nil, nil
	s.stop(tasks)
	for _, f := range closed {
		f()
	}
	return tasks
}
