package relay

import "context"

// Inlet is where the values of sources of one type arrive, each in turn.
type Inlet[T any] struct {
	scope  *Scope
	events chan Event[T]
	ahead  bool
}

// NewInlet returns an inlet for any number of sources, which hand over their values and wait until each is processed.
func NewInlet[T any](scope *Scope) *Inlet[T] {
	return &Inlet[T]{scope: scope, events: make(chan Event[T])}
}

// NewBuffered returns an inlet for one source that runs ahead of the consumer by up to n values, n ≥ 1. The source's
// yield returns when there is room for the next value; Resume does nothing. All values come before the end. After Stop,
// what is left in C is to be ignored.
func NewBuffered[T any](scope *Scope, n int) *Inlet[T] {
	// While the consumer has one value in hand, n-1 lie here and the source holds the n-th in its yield.
	return &Inlet[T]{scope: scope, events: make(chan Event[T], n-1), ahead: true}
}

// Event is a value of a source, or its end. Ended tells which, and has to be asked first.
type Event[T any] struct {
	Source *Source[T]
	Value  T
	ended  bool
}

// Source is a source that was started. Its methods are called on the goroutine that called Run.
type Source[T any] struct {
	in *Inlet[T]
	task
}

// Start runs source on a goroutine of its own, under a context that ends with the scope's or when the source is
// stopped, and returns at once.
func (in *Inlet[T]) Start(source func(ctx context.Context, yield func(T) bool) error) *Source[T] {
	s := &Source[T]{in: in}
	s.ctx, s.cancel = context.WithCancelCause(in.scope.ctx)
	s.done = make(chan struct{})
	s.resume = make(chan struct{}, 1)
	in.scope.add(&s.task)
	go s.run(source)
	return s
}

// C returns the channel of events. After the source of an event was stopped, no more of its events arrive.
func (in *Inlet[T]) C() <-chan Event[T] { return in.events }

// Next returns the next event, or the cause when the scope's context has ended.
func (in *Inlet[T]) Next() (Event[T], error) {
	if err := in.scope.Err(); err != nil {
		return Event[T]{}, err
	}
	select {
	case event := <-in.events:
		return event, nil
	case <-in.scope.ctx.Done():
		return Event[T]{}, in.scope.Err()
	}
}

// Ended reports whether the event is the end of its source, and the error it ended with. The source has returned then.
// A panic of the source is raised here, as a *Panic, and its runtime.Goexit called.
func (e Event[T]) Ended() (bool, error) {
	if !e.ended {
		return false, nil
	}
	s := e.Source
	<-s.done
	if s.in.scope.remove(&s.task) {
		s.outcome.Raise()
	}
	return true, s.err
}

// Resume lets the source go on: the value that it has handed over last is processed. It is called once for each value.
func (s *Source[T]) Resume() {
	if !s.in.ahead {
		s.resume <- struct{}{}
	}
}

// Stop cancels the source's context with the cause, which may be nil for context.Canceled, and returns when the source
// has. A source that has ended already, or was stopped, is left alone. A panic of the source is raised here.
func (s *Source[T]) Stop(cause error) {
	if !s.in.scope.remove(&s.task) {
		return
	}
	s.stop(cause)
	<-s.done
	s.outcome.Raise()
}

// StopOthers stops every other source of the scope, of whatever inlet, as Stop does, all of them at once: it returns
// when the last one has returned.
func (s *Source[T]) StopOthers(cause error) {
	scope := s.in.scope
	others := make([]*task, 0, len(scope.running))
	for _, t := range scope.running {
		if t != &s.task {
			others = append(others, t)
		}
	}
	for _, t := range others {
		scope.remove(t)
		t.stop(cause)
	}
	for _, t := range others {
		<-t.done
	}
	for _, t := range others {
		t.outcome.Raise()
	}
}

// Err returns the error that the source has ended with; it may be called after Stop.
func (s *Source[T]) Err() error {
	<-s.done
	return s.err
}

func (s *Source[T]) run(source func(context.Context, func(T) bool) error) {
	defer close(s.done)
	defer s.cancel(nil)
	defer s.report()
	returned := false
	defer s.outcome.conclude(&returned)
	stopped := false
	s.err = source(s.ctx, func(v T) bool {
		if stopped {
			return false
		}
		stopped = !s.hand(v)
		return !stopped
	})
	returned = true
}

// hand gives v to the operator and reports whether the source may go on.
func (s *Source[T]) hand(v T) bool {
	select {
	case s.in.events <- Event[T]{Source: s, Value: v}:
	case <-s.ctx.Done():
		return false
	}
	if s.in.ahead {
		return true
	}
	_, ok := <-s.resume
	return ok
}

// report tells the operator of the end, if it still listens.
func (s *Source[T]) report() {
	select {
	case s.in.events <- Event[T]{Source: s, ended: true}:
	case <-s.ctx.Done():
	}
}
