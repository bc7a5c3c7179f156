package handoff

import "context"

// Receiver receives the values of any number of sources of one type.
type Receiver[T any] struct {
	scope  *Scope
	events chan Event[T]
	nexts  int // calls of Next, counted up to few+1
}

// NewReceiver returns a receiver. Its sources hand over each value and wait until the next one is requested.
func NewReceiver[T any](scope *Scope) *Receiver[T] {
	return &Receiver[T]{scope: scope, events: make(chan Event[T])}
}

// Event is a value of a source, or its end. Ended reports which, and must be called first.
type Event[T any] struct {
	From  *Subscription[T]
	Value T
	ended bool
}

// Subscription is a source that was started. Its methods are called on the goroutine of the run.
type Subscription[T any] struct {
	in      *Receiver[T]
	task    Task
	refused bool // the source's yield has returned false
}

// Start runs source on a goroutine of its own, under a context that ends with the scope's or when the subscription is
// cancelled, and returns at once.
func (in *Receiver[T]) Start(source func(ctx context.Context, yield func(T) bool) error) *Subscription[T] {
	s := &Subscription[T]{in: in}
	s.task.request = make(chan struct{}, 1)
	s.task.start(in.scope, func(ctx context.Context) error {
		defer s.report()
		return source(ctx, s.deliver)
	})
	return s
}

// C returns the channel of events. It carries no more events of a subscription that was cancelled.
func (in *Receiver[T]) C() <-chan Event[T] { return in.events }

// Next waits for the next event. When the scope's context has ended, it returns the cause.
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

// few is the number of events after which a registration with the context, which makes a receive from one channel
// enough, costs less than a select of two channels for each event: with a select alone, a value of ZipWith costs 1.3 times
// as much (go test ./operators -run '^$' -bench 'Value/ZipWith$' -cpu 1).
const few = 8

// wake ends a waiting Next when the context ends: it sends an event without a source.
func (in *Receiver[T]) wake(closed <-chan struct{}) {
	select {
	case in.events <- Event[T]{}:
	case <-closed:
	}
}

// Ended reports whether the event is the end of its source, and returns the source's error. By then the source has
// returned. If it panicked, Ended panics with a *Panic. If it called runtime.Goexit, Ended does too.
func (e Event[T]) Ended() (bool, error) {
	if !e.ended {
		return false, nil
	}
	return true, e.From.task.End()
}

// Request lets the source produce its next value. It must be called once for each value that was handed over.
func (s *Subscription[T]) Request() { s.task.request <- struct{}{} }

// CancelOthers cancels all other subscriptions and tasks of the scope, and returns when they have returned. If one
// panicked, CancelOthers panics.
func (s *Subscription[T]) CancelOthers() { s.in.scope.cancelAllBut(&s.task) }

// deliver is the source's yield: it hands v over to the operator and reports whether the source may continue. Once it
// has returned false, it returns false without handing over.
func (s *Subscription[T]) deliver(v T) bool {
	s.refused = s.refused || !s.handOver(Event[T]{From: s, Value: v})
	return !s.refused
}

func (s *Subscription[T]) handOver(event Event[T]) bool {
	select {
	case s.in.events <- event: // the operator waits already: cheaper than a select of two channels
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

// report hands the end over to the operator, if it still receives.
func (s *Subscription[T]) report() {
	select {
	case s.in.events <- Event[T]{From: s, ended: true}:
	case <-s.task.ctx.Done():
	}
}
