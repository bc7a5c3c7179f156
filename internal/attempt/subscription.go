package attempt

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Subscription is what a subscription to a retried stream shares with its attempts and with the policies in its
// handler. It is the context of the handler's stream, so that a policy finds it however the handler wraps the policy.
type Subscription struct {
	context.Context // the subscriber's
	// Began is when the subscription began, by the clock that measures its attempts.
	Began time.Time
	// Name is what the handler's method Name returns.
	Name string
	// Bookmarks is how many of the present attempt's values are no progress.
	Bookmarks int64

	lock         lock // for the fields below
	worked       atomic.Bool
	waits        bool    // the last failure is not answered
	last         Attempt // the last failure; N is 0 if there is none
	observations []Observation
	first        [1]Observation // where observations begins
}

// SubscriptionKey is the key under which the context of a handler's stream returns the *Subscription.
type SubscriptionKey struct{}

// Observer observes the subscriptions of a handler from the beginning to the end. It is a policy that is the handler,
// or that Policy.Around has wrapped.
type Observer interface {
	// Early reports whether Observe must be called before the first attempt. Else it is called at the first failure.
	Early() bool
	// Observe begins the observation of s.
	Observe(s *Subscription) Observation
	// Once reports a subscription whose only attempt was no failure, if Observe was not called. err is what it returns.
	Once(s *Subscription, only Attempt, err error)
}

// Observation is the observation of one subscription by one policy. Its methods are called one at a time, with the lock
// except for Next.
type Observation interface {
	// Count is called with each failure, before the handler receives it. It is not called for an error that ends the
	// subscription unasked: the subscriber's cancellation, a permanent error, ErrNotRestartable.
	Count(failure *Attempt)
	// Next decides about a failure that was counted, in place of the handler's stream: it returns nil when the next
	// attempt is due, else why there is none.
	Next(failure *Attempt) error
	// Begins is called before an attempt that an answer of the handler's stream has started.
	Begins()
	// Works is called once for each attempt that works before it ends: before the consumer has its first value, or when
	// stream.Works is called. It is not called once the subscriber's context has ended.
	Works()
	// Over is called when the subscription is over. err is what it returns: nil if the source has ended or the consumer
	// has stopped; ErrPanic if a panic has ended it, then last does not count.
	Over(last Attempt, err error)
}

// ErrPanic stands for the panic, or runtime.Goexit, that has ended a subscription.
var ErrPanic = errors.New("the subscription was ended by a panic")

// Attempt is an attempt that has ended.
type Attempt struct {
	N        int
	Err      error         // its own; nil if the consumer has stopped
	Items    int64         // without bookmarks
	Lasted   time.Duration // 0 for the first attempt if nobody observes it
	At       time.Duration // when it ended, after the subscription began; 0 as Lasted
	Worked   bool          // known of a failure
	Reported bool          // as a failure
}

// Lock waits until no other goroutine is in the subscription: all hooks are called with the lock.
func (s *Subscription) Lock() { s.lock.acquire() }

// Unlock releases the lock.
func (s *Subscription) Unlock() { s.lock.release() }

// Report reports a failure.
func (s *Subscription) Report(failure *Attempt) {
	s.Lock()
	defer s.Unlock()
	failure.Reported = true
	if s.worked.Load() { // a store costs more
		failure.Worked = true
		s.worked.Store(false)
	}
	s.last, s.waits = *failure, true
	for _, o := range s.observations {
		o.Count(failure)
	}
}

// Answered reports that the handler's stream has answered the last failure.
func (s *Subscription) Answered() {
	s.Lock()
	defer s.Unlock()
	s.waits = false
	for _, o := range s.observations {
		o.Begins()
	}
}

// Last returns the last failure, and whether it waits for its answer. It is called with the lock.
func (s *Subscription) Last() (failure *Attempt, waits bool) { return &s.last, s.waits }

// Worked reports whether the present attempt was reported to work.
func (s *Subscription) Worked() bool { return s.worked.Load() }

// Works reports that an attempt works, unless another call has done so, the attempt is over, or the subscriber's
// context has ended. When it returns, the hooks of the outage have returned.
func (s *Subscription) Works(over *uint32) {
	s.Lock()
	defer s.Unlock()
	if s.Worked() || atomic.LoadUint32(over) != 0 || s.Err() != nil {
		return
	}
	s.worked.Store(true)
	for _, o := range s.observations {
		o.Works()
	}
}

// End ends the observations, with the arguments of Observation.Over.
func (s *Subscription) End(last Attempt, err error) {
	s.Lock()
	defer s.Unlock()
	s.waits = false
	for _, o := range s.observations {
		o.Over(last, err)
	}
}

// Observations returns the observations. It is called with the lock.
func (s *Subscription) Observations() []Observation { return s.observations }

// Observe adds an observation. It is called with the lock.
func (s *Subscription) Observe(o Observation) {
	if s.observations == nil {
		s.observations = s.first[:0]
	}
	s.observations = append(s.observations, o)
}

// Value returns the subscription itself for its key.
func (s *Subscription) Value(key any) any {
	if key == (SubscriptionKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// String describes the context in the form that package context uses. Without it, printing the context would read its
// fields, which is a data race.
func (s *Subscription) String() string { return fmt.Sprint(s.Context) }

// lock is a lock for code that calls hooks. A goroutine that waits for it waits on a channel: a mutex that is held
// while a hook waits would stop a bubble of testing/synctest.
type lock struct {
	goroutines atomic.Int32
	next       atomic.Pointer[chan struct{}] // made when a goroutine first waits
}

func (l *lock) acquire() {
	if l.goroutines.Add(1) > 1 {
		<-l.channel()
	}
}

func (l *lock) release() {
	if l.goroutines.Add(-1) > 0 {
		l.channel() <- struct{}{}
	}
}

func (l *lock) channel() chan struct{} {
	if l.next.Load() == nil {
		next := make(chan struct{}, 1)
		l.next.CompareAndSwap(nil, &next)
	}
	return *l.next.Load()
}
