// Package handoff runs sources on goroutines of their own and hands their values over, one by one, to the goroutine of
// the operator that consumes them. Every concurrent operator of the library is built on it.
//
// An operator is a [Stream]: a function that is called for each run with a [Scope], which owns the goroutines. When the
// function returns, panics or calls runtime.Goexit, every source that still runs is cancelled and waited for. Sources
// of one type are received by a [Receiver]; its channel stands in a select with a timer, the context and other
// receivers:
//
//	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
//		in := handoff.NewReceiver[T](scope)
//		for _, source := range sources {
//			in.Start(source)
//		}
//		for open := len(sources); open > 0 && !out.Stopped(); {
//			event, err := in.Next() // or: select { case event := <-in.C(): …; case <-timer: …; case <-ctx.Done(): … }
//			if err != nil {
//				return err // the context has ended
//			}
//			if ended, err := event.Ended(); err != nil { // looked at first, and of every event
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
// A source stays inside its yield until the operator has called [Subscription.Request], so it is exactly as far as the
// consumer has come, and may use a buffer again once yield has returned; an operator that keeps the value and lets the
// source go on requests the next one at once. Yield returns false when the subscription was cancelled, or when its
// context has ended before the value was received; from then on it returns false without handing over anything.
//
// A source that runs ahead of the consumer is received by a [Buffer]. A [Task] is a function that hands over nothing,
// or in a way of its own.
package handoff

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Stream returns the stream whose runs are calls of run, each with a scope of its own. It ends as run says: with nil
// when the consumer has stopped, else with run's error and, once the context has ended, its cause. The run has returned
// and its sources too; under a context that has ended before, run is not called. A source that ended in a panic makes
// the stream panic with a *Panic, one that called runtime.Goexit makes it do the same; a panic of run passes through
// untouched.
func Stream[T any](run func(scope *Scope, out *ending.Consumer[T]) error) func(context.Context, func(T) bool) error {
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		scope := &Scope{ctx: ctx}
		defer scope.close() // run has panicked: its panic is the one that counts
		out := ending.NewConsumer(yield)
		err := run(scope, out)
		for _, t := range scope.close() {
			t.outcome.Raise()
		}
		return out.End(ctx, err)
	}
}

// Scope owns the goroutines of one run of an operator. It belongs to the goroutine of the run.
type Scope struct {
	ctx     context.Context
	running []*Task
	closed  func()
	ends    []func() // what waits for the end of the context, to be stopped
}

// Context returns the context of the run.
func (s *Scope) Context() context.Context { return s.ctx }

// Err returns nil while the context of the run lasts, then ending.ContextError of it.
func (s *Scope) Err() error { return ending.ContextError(s.ctx) }

// OnClosed sets the function that is called at the end of the run, when all sources have returned.
func (s *Scope) OnClosed(f func()) { s.closed = f }

// OnEnd calls f on a goroutine of its own when the context ends, with a channel that is closed at the end of the run.
// The run waits for f.
func (s *Scope) OnEnd(f func(closed <-chan struct{})) {
	closed, returned := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		defer close(returned)
		f(closed)
	})
	s.ends = append(s.ends, func() {
		if !stop() {
			close(closed)
			<-returned
		}
	})
}

// close cancels all that run, then waits for them and returns them.
func (s *Scope) close() []*Task {
	tasks, closed := s.running, s.closed
	s.running, s.closed = nil, nil
	if closed != nil {
		defer closed()
	}
	for _, t := range tasks {
		t.stop()
	}
	for _, t := range tasks {
		<-t.done
	}
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
	return tasks
}
