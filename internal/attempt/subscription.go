package attempt

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Subscription is what a subscription to a retried stream shares with its attempts and with the policies in its
// handler. It is the context of the handler's stream, so that a policy finds it however the handler wraps the policy.
type Subscription struct {
	context.Context // the subscriber's
	// Began is when the subscription began, by the clock of the context.
	Began time.Time
	// Name is what the handler's method Name returns.
	Name string
	// Bookmarks is how many of the present attempt's values are no progress.
	Bookmarks int64

	lock         lock // for the fields below
	down         atomic.Bool
	last         Failure   // N is 0 if there is none
	earlier      []Failure // the ones before it, for an observation that begins later
	observations []Observation
	first        [1]Observation // where observations begins
}

// SubscriptionKey is the key under which the context of a handler's stream returns the *Subscription.
type SubscriptionKey struct{}

// Observer is a stream.RetryHandler that observes its subscriptions: a retry.Policy, or a handler that embeds one.
type Observer interface {
	// Observe begins the observation of s, before its first failure is reported. If handler, the subscription's, is the
	// observer itself, Observe returns a Driver. If s is over and no attempt has failed before, it reports the end
	// instead; until then end.Attempts is 0.
	Observe(s *Subscription, handler any, end End) Driver
}

// Driver makes the decisions of a handler that consists of a policy alone, in place of the handler's stream.
type Driver interface {
	// Next returns nil when the attempt after the failure, which was reported, is due; else why there is none.
	Next(Failure) error
}

// Observation is the observation of one subscription. Its methods are called one at a time.
type Observation interface {
	// Failed is called with each failure, before the handler receives it. It is not called for an error that ends the
	// subscription unasked: the subscriber's cancellation, a permanent error, ErrNotRestartable.
	Failed(Failure)
	// Works is called once for each attempt after a failure that works before it ends: before the consumer has its first
	// value, or when stream.Works is called. It is not called once the subscriber's context has ended.
	Works()
	// Ended is called when the subscription is over.
	Ended(End)
	// Aborted is called in its place if a panic has ended the subscription.
	Aborted()
}

// Failure is a failed attempt, as in stream.Failure.
type Failure struct {
	Err    error
	N      int
	Items  int64
	Lasted time.Duration
	At     time.Duration // after the subscription began
}

// End is the end of a subscription.
type End struct {
	Attempts int
	Err      error // that RetryWhen returns: nil if the source has ended or the consumer has stopped

	// The last attempt, if it was not reported as a failure.
	Own    error // its own error
	Items  int64
	Lasted time.Duration
}

// The maximum number of earlier failures, before and after the handler has first run its failures.
const (
	keptBefore = 100
	keptAfter  = 2
)

// Lock waits until no other goroutine is in the subscription: all hooks are called with the lock.
func (s *Subscription) Lock() { s.lock.acquire() }

// Unlock releases the lock.
func (s *Subscription) Unlock() { s.lock.release() }

// Failed reports a failure. ran says that the handler has run its failures.
func (s *Subscription) Failed(f *Failure, ran bool) {
	s.Lock()
	defer s.Unlock()
	if !s.Down() { // a store costs more
		s.down.Store(true)
	}
	if s.observations == nil && f.N > 1 && (len(s.earlier) < keptAfter || !ran && len(s.earlier) < keptBefore) {
		s.earlier = append(s.earlier, s.last)
	}
	s.last = *f
	for _, o := range s.observations {
		o.Failed(*f)
	}
}

// Down reports whether the last attempt that has failed was not followed by one that works.
func (s *Subscription) Down() bool { return s.down.Load() }

// Works reports that an attempt works, unless another call has done so, the attempt is over, or the subscriber's
// context has ended. When it returns, the hooks of the outage have returned.
func (s *Subscription) Works(over *uint32) {
	s.Lock()
	defer s.Unlock()
	if !s.Down() || atomic.LoadUint32(over) != 0 || s.Err() != nil {
		return
	}
	s.down.Store(false)
	for _, o := range s.observations {
		o.Works()
	}
}

// End ends the observations; nil stands for a panic.
func (s *Subscription) End(end *End) {
	s.Lock()
	defer s.Unlock()
	for _, o := range s.observations {
		if end != nil {
			o.Ended(*end)
		} else {
			o.Aborted()
		}
	}
}

// Observations returns the observations. It is called with the lock.
func (s *Subscription) Observations() []Observation { return s.observations }

// Observe adds an observation and reports to it what was before. It is called with the lock.
func (s *Subscription) Observe(o Observation) {
	if s.observations == nil {
		s.observations = s.first[:0]
	}
	s.observations = append(s.observations, o)
	if s.last.N == 0 {
		return
	}
	for _, f := range append(s.earlier, s.last) {
		o.Failed(f)
	}
	if !s.Down() {
		o.Works()
	}
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
