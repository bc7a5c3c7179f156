package handoff

import (
	"context"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Receiver receives the values of sources of one type, each in turn.
type Receiver[T any] struct {
	scope  *Scope
	events chan Event[T]
	nexts  int // calls of Next, up to few and one
}

// NewReceiver returns a receiver for any number of sources, which hand over their values and wait until the next one is
// requested.
func NewReceiver[T any](scope *Scope) *Receiver[T] {
	return &Receiver[T]{scope: scope, events: make(chan Event[T])}
}

// Event is a value of a source, or its end. Ended reports which, and has to be called first.
type Event[T any] struct {
	From  *Subscription[T]
	Value T
	ended bool
}

// Subscription is a source that was started. Its methods are called on the goroutine of the run.
type Subscription[T any] struct {
	in   *Receiver[T]
	task Task
}

// Start runs source on a goroutine of its own, under a context that ends with the scope's or when the subscription is
// cancelled, and returns at once.
func (in *Receiver[T]) Start(source func(ctx context.Context, yield func(T) bool) error) *Subscription[T] {
	s := &Subscription[T]{in: in}
	s.task.request = make(chan struct{}, 1)
	s.task.start(in.scope, func(ctx context.Context) error {
		defer s.report()
		return source(ctx, ending.NewConsumer(s.deliver).Deliver)
	})
	return s
}

// C returns the channel of events. After the subscription of an event was cancelled, no more of its events arrive.
func (in *Receiver[T]) C() <-chan Event[T] { return in.events }

// Next returns the next event, or the cause when the scope's context has ended.
func (in *Receiver[T]) Next() (Event[T], error) {
	if err := in.scope.Err(); err != nil {
		return Event[T]{}, err
	}
	if in.nexts < few {
		in.nexts++
		select {
		case event := <-in.events:
			return event, nil
		case <-in.scope.ctx.Done():
			return Event[T]{}, in.scope.Err()
		}
	}
	if in.nexts == few {
		in.nexts++
		in.scope.OnEnd(in.wake)
	}
	event := <-in.events
	if event.From == nil {
		return event, in.scope.Err()
	}
	return event, nil
}

// few is how many events a select of two channels costs less than what makes a receive from one enough.
const few = 8

// wake ends a Next that waits when the context ends: it sends the event of no source.
func (in *Receiver[T]) wake(closed <-chan struct{}) {
	select {
	case in.events <- Event[T]{}:
	case <-closed:
	}
}

// Ended reports whether the event is the end of its source, and the error it ended with. The source has returned then.
// A panic of the source is raised here, as a *Panic, and its runtime.Goexit called.
func (e Event[T]) Ended() (bool, error) {
	if !e.ended {
		return false, nil
	}
	return true, e.From.task.End()
}

// Request lets the source go on to its next value. It is called once for each value that it has handed over.
func (s *Subscription[T]) Request() { s.task.request <- struct{}{} }

// CancelOthers cancels every other subscription and task of the scope, all of them at once, and returns when the last
// one has returned. A panic of theirs is raised here.
func (s *Subscription[T]) CancelOthers() {
	scope := s.in.scope
	others := slices.DeleteFunc(slices.Clone(scope.running), func(t *Task) bool { return t == &s.task })
	for _, t := range others {
		scope.remove(t)
		t.stop()
	}
	for _, t := range others {
		<-t.done
	}
	for _, t := range others {
		t.outcome.Raise()
	}
}

// deliver hands v over to the operator and reports whether the source may go on.
func (s *Subscription[T]) deliver(v T) bool {
	event := Event[T]{From: s, Value: v}
	select {
	case s.in.events <- event: // the operator waits for it; this takes no queue
	default:
		select {
		case s.in.events <- event:
		case <-s.task.ctx.Done():
			return false
		}
	}
	_, ok := <-s.task.request
	return ok
}

// report hands the end over to the operator, if that still receives.
func (s *Subscription[T]) report() {
	select {
	case s.in.events <- Event[T]{From: s, ended: true}:
	case <-s.task.ctx.Done():
	}
}
