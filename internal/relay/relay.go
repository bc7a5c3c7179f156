// Package relay runs sources on goroutines of their own and hands their values over, one by one, to the goroutine of
// the operator that consumes them. Every concurrent operator of the library is built on it.
//
// An operator works inside [Run], which owns the goroutines: when the operator's body returns, panics or calls
// runtime.Goexit, every source that still runs is cancelled and waited for. Sources of one type arrive at an [Inlet];
// its channel stands in a select beside an alarm, the context and other inlets:
//
//	return relay.Run(ctx, func(scope *relay.Scope) error {
//		in := relay.NewInlet[T](scope)
//		for _, source := range sources {
//			in.Start(source)
//		}
//		for open := len(sources); open > 0; {
//			event, err := in.Next() // or: select { case event := <-in.C(): …; case <-alarm.C(): …; case <-ctx.Done(): … }
//			if err != nil {
//				return err // the context has ended
//			}
//			if ended, err := event.Ended(); err != nil { // asked first, and of every event
//				return err
//			} else if ended {
//				open--
//				continue
//			}
//			if !yield(event.Value) {
//				return nil
//			}
//			event.Source.Resume()
//		}
//		return scope.Err()
//	})
//
// A source stays inside its yield until the operator has called [Source.Resume], so it is exactly as far as the
// consumer has come, and may use a buffer again once yield has returned; an operator that keeps the value and lets the
// source go on resumes it at once. Yield returns false when the source was stopped, or when its context has ended
// before the value was taken; from then on it returns false without handing over anything.
//
// A source may fail because its context has ended, so an operator that finds its own context ended returns that cause,
// whatever its sources say: Next and Scope.Err do so, a select on C has to.
package relay

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Run runs body with a new scope and returns what it returns. Before it does, it cancels the sources that still run
// and waits for them. A source that ended in a panic makes Run panic with a *Panic, one that called runtime.Goexit
// makes it do the same; a panic of body itself passes through untouched.
func Run(ctx context.Context, body func(*Scope) error) error {
	scope := &Scope{ctx: ctx}
	defer scope.close() // body has panicked: its panic is the one that counts
	err := body(scope)
	for _, t := range scope.close() {
		t.outcome.Raise()
	}
	return err
}

// Scope owns the goroutines of one run of an operator. It belongs to the goroutine that called Run.
type Scope struct {
	ctx     context.Context
	running []*task
}

// Err returns nil while the scope's context lasts, then ending.Of it.
func (s *Scope) Err() error {
	return ending.Of(s.ctx)
}

// close cancels all that run, then waits for them and returns them.
func (s *Scope) close() []*task {
	tasks := s.running
	s.running = nil
	for _, t := range tasks {
		t.stop(nil)
	}
	for _, t := range tasks {
		<-t.done
	}
	return tasks
}

// add takes t into the scope's care.
func (s *Scope) add(t *task) {
	t.place = len(s.running)
	s.running = append(s.running, t)
}

// remove drops t, which has ended or was stopped; it reports whether t was still in the scope's care.
func (s *Scope) remove(t *task) bool {
	if t.place >= len(s.running) || s.running[t.place] != t {
		return false
	}
	last := len(s.running) - 1
	s.running[t.place] = s.running[last]
	s.running[t.place].place = t.place
	s.running[last] = nil
	s.running = s.running[:last]
	return true
}

// task is one goroutine that runs a source.
type task struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	resume  chan struct{} // the value was processed; closed: the source was stopped
	done    chan struct{} // closed when the source has returned; what follows is written before
	err     error
	outcome Outcome
	place   int // in the scope's list
}

// stop makes the source stop, whether it works or waits in its yield.
func (t *task) stop(cause error) {
	t.cancel(cause)
	close(t.resume)
}
