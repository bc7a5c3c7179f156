package handoff

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Receiver receives the values of any number of sources of one type, in the order in which they come.
type Receiver[T any] struct {
	scope *Scope
	news  chan struct{} // one signal, for an operator that waits

	mu          sync.Mutex
	first, last *Source[T] // the queue of those with an event
	waits       bool       // the operator
	closed      bool       // no more events
}

// NewReceiver returns a receiver. Its sources hand over each value and wait until the next one is requested.
func NewReceiver[T any](scope *Scope) *Receiver[T] {
	in := &Receiver[T]{scope: scope, news: make(chan struct{}, 1)}
	scope.OnEnd(in.Close)
	return in
}

// Event is a value of a source, or its end. Ended reports which, and must be called first.
type Event[T any] struct {
	From  *Source[T]
	Value T
	ended bool
}

// Source is a source that was started.
type Source[T any] struct {
	in    *Receiver[T]
	task  Task
	value T
	ended bool

	next    *Source[T]  // in the queue
	refused bool        // no more of its events
	asks    atomic.Bool // the source waits for an answer
	answers chan bool   // one answer: whether it may continue
}

// Start runs source on a goroutine of its own, under a context that ends with the scope's or when the source is
// cancelled, and returns at once.
func (in *Receiver[T]) Start(source func(ctx context.Context, yield func(T) bool) error) *Source[T] {
	s := in.New()
	s.task.onStop = s.Refuse
	s.task.start(in.scope, func(ctx context.Context) error {
		defer s.report()
		return source(ctx, s.Deliver)
	})
	return s
}

// New returns a source without a function: the program calls its Deliver, one call at a time.
func (in *Receiver[T]) New() *Source[T] {
	return &Source[T]{in: in, answers: make(chan bool, 1)}
}

// Next waits for the next event. When the scope's context has ended, it returns the cause.
func (in *Receiver[T]) Next() (Event[T], error) { return in.NextAfter(func() {}) }

// NextAfter is Next, and calls idle when no event is there.
func (in *Receiver[T]) NextAfter(idle func()) (Event[T], error) {
	for looked := false; ; looked = true {
		if err := in.scope.Err(); err != nil {
			return Event[T]{}, err
		}
		if event, ok := in.Take(); ok {
			return event, nil
		}
		if looked {
			<-in.news
			continue
		}
		idle()
		runtime.Gosched() // sources that are ready then wake the operator once or not at all: Merge takes 0.7 of the time
	}
}

// ErrCut is the error of NextOr when cut is closed.
var ErrCut = errors.New("cut")

// NextOr is Next under ctx, the scope's context or one derived from it. It returns false when due is ready, and ErrCut
// when cut is closed, even if there is an event too, because the time of the event is not known.
func (in *Receiver[T]) NextOr(ctx context.Context, due <-chan time.Time, cut <-chan struct{}) (event Event[T], ok bool, err error) {
	for {
		if err := ending.ContextError(ctx); err != nil {
			return event, false, err
		}
		select { // selects of one channel each cost a fraction of one select of all
		case <-due:
			return event, false, nil
		default:
		}
		select {
		case <-cut:
			return event, false, ErrCut
		default:
		}
		if event, ok := in.Take(); ok {
			return event, true, nil
		}
		select {
		case <-in.news:
		case <-due:
			return event, false, nil
		case <-cut:
			return event, false, ErrCut
		case <-ctx.Done():
		}
	}
}

// Take returns the next event, if there is one. There are none of a source that was cancelled.
func (in *Receiver[T]) Take() (event Event[T], ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	var none T
	for in.first != nil {
		s := in.first
		in.first, s.next = s.next, nil
		if !s.refused {
			event.From, event.Value, event.ended = s, s.value, s.ended
			s.value = none
			return event, true
		}
	}
	in.waits = true
	return event, false
}

// put adds the source to the queue, unless its events are refused.
func (in *Receiver[T]) put(s *Source[T]) bool {
	in.mu.Lock()
	if in.closed || s.refused {
		in.mu.Unlock()
		return false
	}
	s.asks.Store(!s.ended)
	if in.first == nil {
		in.first = s
	} else {
		in.last.next = s
	}
	in.last = s
	in.unlockAndWake()
	return true
}

func (in *Receiver[T]) unlockAndWake() {
	waits := in.waits
	in.waits = false
	in.mu.Unlock()
	if waits {
		select {
		case in.news <- struct{}{}:
		default:
		}
	}
}

// Close refuses all events that are not taken yet. It is called when the context of the run ends.
func (in *Receiver[T]) Close() {
	in.mu.Lock()
	in.closed, in.waits = true, true // the operator may just have used up the signal of an event that it does not find now
	for ; in.first != nil; in.first = in.first.next {
		in.first.refuse()
	}
	in.unlockAndWake()
}

// Ended reports whether the event is the end of its source, and returns the source's error. By then the source has
// returned. If it panicked, Ended panics with a *Panic. If it called runtime.Goexit, Ended does too.
func (e Event[T]) Ended() (bool, error) {
	if !e.ended {
		return false, nil
	}
	return true, e.From.task.End()
}

// Request lets the source produce its next value. It must be called once for each value that was taken. It may be
// called on any goroutine, and so may Refuse.
func (s *Source[T]) Request() { s.answer(true) }

// CancelOthers cancels all other sources and tasks of the scope, and returns when they have returned. If one
// panicked, CancelOthers panics. It must be called on the goroutine of the run.
func (s *Source[T]) CancelOthers() { s.in.scope.cancelAllBut(&s.task) }

// Deliver is the source's yield: it hands v over to the operator and reports whether the source may continue.
func (s *Source[T]) Deliver(v T) bool {
	s.value = v
	return s.in.put(s) && <-s.answers
}

// report hands the end over to the operator.
func (s *Source[T]) report() {
	s.ended = true
	s.in.put(s)
}

// answer answers the source, if it asks.
func (s *Source[T]) answer(more bool) {
	if s.asks.CompareAndSwap(true, false) {
		s.answers <- more
	}
}

// Refuse lets the source produce no more values.
func (s *Source[T]) Refuse() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.refuse()
}

// refuse is Refuse under the lock of in.
func (s *Source[T]) refuse() {
	s.refused = true
	s.answer(false)
}
