package stream

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/op"
)

// ErrClosed is the error of Send after the subject was closed.
var ErrClosed = errors.New("stream: the subject is closed")

// Subject is a hot source: a program sends values into it, and each run of its stream at that time yields them.
// [NewSubject] makes one; the methods of a zero Subject panic. It is safe for concurrent use and starts no goroutine.
// (ReactiveX: Subject; with a replay of n, a ReplaySubject of n values; with a replay of 1 and a first value sent at
// once, BehaviorSubject.)
//
//	Send:          a--b--c--d--Close(nil)
//	subscriber 1:  a--b--c--d--|
//	subscriber 2:      --c--d--|       (without replay)
//	subscriber 3:       bc--d--|       (with a replay of 2)
type Subject[T any] struct {
	sending chan struct{} // full while a value is being processed
	closed  chan struct{}

	mu          sync.Mutex
	last        op.Ring[T]
	subscribers []*subscriber[T]
	err         error // of Close
}

// sent is a value that is being processed.
type sent[T any] struct {
	value     T
	remaining int           // number of those that have it in hand
	done      chan struct{} // closed when that is 0
}

// subscriber is one run of the subject's stream.
type subscriber[T any] struct {
	given chan *sent[T] // has room for the value that is being sent
	hand  *sent[T]      // received, not processed yet
}

// NewSubject returns a subject that replays up to replay of the last values to each new subscriber; 0 replays none.
func NewSubject[T any](replay int) *Subject[T] {
	requireMin("NewSubject: replay", replay, 0)
	return &Subject[T]{
		sending: make(chan struct{}, 1),
		closed:  make(chan struct{}),
		last:    op.NewRing[T](replay),
	}
}

// Send delivers v to all present subscribers, and returns nil when each of them has processed it or left. So the
// slowest subscriber slows the sender, unless it has Buffer after it. Without a subscriber Send returns at once, and v
// is only kept for the replay. Concurrent calls of Send run one at a time.
//
// When ctx ends, Send returns an error that matches the cause. Then either v was not sent, or not all subscribers are
// done with it; in that case the next Send waits for them. After Close it returns ErrClosed. A subscriber must not wait
// for a Send to its own subject.
func (s *Subject[T]) Send(ctx context.Context, v T) error {
	s.require("Send")
	if err := ending.ContextError(ctx); err != nil {
		return err
	}
	select {
	case s.sending <- struct{}{}:
	case <-s.closed:
		return ErrClosed
	case <-ctx.Done():
		return ending.ContextError(ctx)
	}
	done, err := s.give(v)
	if err != nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
		if !closed(done) {
			return ending.ContextError(ctx)
		}
	}
	return nil
}

// give delivers v to the subscribers and returns a channel that is closed when they are done with it.
func (s *Subject[T]) give(v T) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if closed(s.closed) { // sending stays full: nobody needs it any more
		return nil, ErrClosed
	}
	s.last.Put(v)
	m := &sent[T]{value: v, remaining: 1 + len(s.subscribers), done: make(chan struct{})}
	for _, c := range s.subscribers {
		c.hand = m
		c.given <- m
	}
	s.putDown(m)
	return m.done, nil
}

// putDown records that one of those that have m in hand, its subscribers and give, is done with it. After the last one
// the next value can be sent.
func (s *Subject[T]) putDown(m *sent[T]) {
	if m.remaining--; m.remaining == 0 {
		<-s.sending
		close(m.done)
	}
}

// Close ends the subject's stream for all subscribers when they have processed what was sent: without an error if err
// is nil, else with err. Only the first Close counts. It does not wait.
func (s *Subject[T]) Close(err error) {
	s.require("Close")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !closed(s.closed) {
		s.err = err
		close(s.closed)
	}
}

// Stream returns the subject's stream. Each run of it is a subscription: it yields the replayed values, then all values
// sent until it ends. Each subscriber receives its values on its own goroutine.
//
// Under RetryWhen, a subscriber that fails, in an operator between the subject and RetryWhen, is not subscribed until
// its next attempt. It misses the values sent meanwhile, except the replayed ones, and it may receive replayed values a
// second time. Present subscribers receive the error of Close as an ordinary failure. For later subscribers the error
// is [Permanent], because the subject stays closed: so at most one retry is in vain.
//
// If one subscriber waits for another, as in ZipWith(s, s.Skip(1), …), they need Buffer.
func (s *Subject[T]) Stream() Stream[T] {
	s.require("Stream")
	return s.run
}

// require panics if NewSubject has not made the subject.
func (s *Subject[T]) require(method string) {
	if s == nil || s.sending == nil {
		panic("stream: Subject." + method + ": the subject is not made by NewSubject")
	}
}

func (s *Subject[T]) run(ctx context.Context, yield func(T) bool) error {
	if err := ending.ContextError(ctx); err != nil {
		return err
	}
	c, replayed, late := s.join()
	defer s.leave(c)
	for _, v := range replayed {
		if !yield(v) {
			return nil
		}
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
	}
	for {
		m := s.next(ctx, c)
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		switch {
		case m == nil && late:
			return ending.Permanent(s.err)
		case m == nil:
			return s.err
		}
		if !yield(m.value) {
			return nil
		}
		s.processed(c)
	}
}

// join adds a subscriber. It returns the values to replay, and whether the subject is closed already.
func (s *Subject[T]) join() (c *subscriber[T], replayed []T, late bool) {
	c = &subscriber[T]{given: make(chan *sent[T], 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, c)
	return c, s.last.Values(), closed(s.closed)
}

// next returns the subscriber's next value, or nil when the subject is closed or ctx has ended.
func (s *Subject[T]) next(ctx context.Context, c *subscriber[T]) *sent[T] {
	select {
	case m := <-c.given:
		return m
	case <-s.closed:
	case <-ctx.Done():
	}
	select {
	case m := <-c.given: // values sent before the end
		return m
	default:
		return nil
	}
}

// processed records that the subscriber is done with its value.
func (s *Subject[T]) processed(c *subscriber[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putDown(c.hand)
	c.hand = nil
}

// leave removes the subscriber, and counts its value, if any, as processed.
func (s *Subject[T]) leave(c *subscriber[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = slices.DeleteFunc(s.subscribers, func(other *subscriber[T]) bool { return other == c })
	if c.hand != nil {
		s.putDown(c.hand)
	}
}
