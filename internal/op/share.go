package op

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Share is operators.ShareN under the name of operator.
func Share[T any](p Package, operator string, s Stream[T], n int) Stream[T] {
	return share(p, operator, n, &shared[T]{source: s, quorum: n})
}

// ShareReplay is operators.ShareReplay.
func ShareReplay[T any](p Package, s Stream[T], n int) Stream[T] {
	return share(p, "ShareReplay", n, &shared[T]{source: s, quorum: 1, replay: n})
}

// share returns the stream that consumers share.
func share[T any](p Package, operator string, n int, s *shared[T]) Stream[T] {
	p.NotNil(operator, "s", s.source == nil)
	p.atLeast1(operator, "n", n)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		ctx := scope.Context()
		r, c, missed := s.join(ctx)
		scope.OnEnd(c.wake)
		err := s.consume(ctx, r, c, missed, out.Deliver)
		if r.ended() {
			r.outcome.Raise()
			if err != nil { // the end of ctx may have ended the source in the wait for a retry
				return ending.Error(ctx, err, r.err)
			}
		}
		return err
	})
}

// shared is the stream that Share returns.
type shared[T any] struct {
	source Stream[T]
	quorum int
	replay int // number of last values that a late consumer receives

	mu      sync.Mutex
	current *sharedRun[T]   // the run to join, if any; with replay it may have ended without an error
	before  <-chan struct{} // done of the run whose source was started last, while that has not returned
}

// sharedRun is one run of the source, on a goroutine of its own. The last consumer to leave waits for that goroutine.
type sharedRun[T any] struct {
	cancel     context.CancelFunc // nil before the source is started
	consumers  []*sharer
	processing atomic.Int32  // number of consumers that process the current value
	idle       chan struct{} // one signal: processing is 0 again
	value      T
	kept       Ring[T]       // for late consumers
	done       chan struct{} // closed when the source has returned, after the fields below are written
	err        error
	outcome    handoff.Outcome
}

// sharer is one consumer.
type sharer struct {
	signal chan struct{} // one: there is a value, or an end, of the consumer's context too
	busy   atomic.Bool   // the consumer has a value that it has not processed yet
	joint  *joint        // nil if the consumer waits for no other one
}

// give hands the run's current value to the consumer.
func (c *sharer) give() {
	c.busy.Store(true)
	c.wake()
}

// wake makes the consumer check again.
func (c *sharer) wake() {
	select {
	case c.signal <- struct{}{}:
	default: // it has not checked since the last signal
	}
}

// join adds a consumer to the current run, or to a new one. It starts the run if there are enough consumers. It returns
// the values that are replayed to the consumer.
func (s *shared[T]) join(ctx context.Context) (r *sharedRun[T], c *sharer, missed []T) {
	c = &sharer{signal: make(chan struct{}, 1)}
	c.joint, _ = ctx.Value(jointKey{}).(*joint)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		s.current = &sharedRun[T]{kept: NewRing[T](s.replay), idle: make(chan struct{}, 1), done: make(chan struct{})}
	}
	r = s.current
	if s.replay > 0 {
		missed = r.kept.Values()
	} else if c.joint != nil && c.joint.holding.Load() > 0 && slices.ContainsFunc(r.consumers, func(other *sharer) bool {
		return other.busy.Load() && other.joint == c.joint
	}) && r.retain() {
		c.give()
	}
	r.consumers = append(r.consumers, c)
	if r.cancel == nil && len(r.consumers) >= s.quorum {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r.cancel = cancel
		go s.start(own, r, s.before)
		s.before = r.done
	}
	return r, c, missed
}

// start runs the source when the run before it has returned.
func (s *shared[T]) start(ctx context.Context, r *sharedRun[T], before <-chan struct{}) {
	defer s.finish(r)
	r.outcome.Of(func() {
		if before != nil {
			<-before
		}
		if r.err = ending.ContextError(ctx); r.err == nil {
			r.err = s.source(ctx, func(v T) bool { return s.deliver(r, v) })
		}
	})
}

// finish ends the run for its consumers. It cannot be joined any more, unless it has ended without an error and is
// replayed.
func (s *shared[T]) finish(r *sharedRun[T]) {
	r.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if replays := s.replay > 0 && r.err == nil && r.outcome.Returned(); s.current == r && !replays {
		s.current = nil
	}
	if s.before == r.done {
		s.before = nil
	}
	close(r.done)
	for _, c := range r.consumers {
		c.wake()
	}
}

// deliver is the source's yield. It returns when all consumers have processed v, with false if none is left.
func (s *shared[T]) deliver(r *sharedRun[T], v T) bool {
	s.mu.Lock()
	r.value = v
	if s.replay > 0 {
		r.kept.Put(v)
	}
	n := len(r.consumers)
	r.processing.Store(int32(n))
	for _, c := range r.consumers {
		c.give()
	}
	s.mu.Unlock()
	if n == 0 {
		return false
	}
	<-r.idle
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	r.value = none
	return len(r.consumers) > 0
}

// consume passes values to one consumer until it leaves, the missed values first.
func (s *shared[T]) consume(ctx context.Context, r *sharedRun[T], c *sharer, missed []T, yield func(T) bool) error {
	defer s.leave(r, c)
	for _, v := range missed {
		if !yield(v) {
			return nil
		}
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
	}
	for {
		if r.ended() {
			return ending.Error(ctx, r.err)
		}
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		if !c.busy.Load() {
			<-c.signal
			continue
		}
		if !yield(r.value) {
			return nil
		}
		r.processed(c)
	}
}

// ended reports whether the source has returned.
func (r *sharedRun[T]) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// retain adds a consumer to those that process the current value. It returns false if there are none.
func (r *sharedRun[T]) retain() bool {
	for n := r.processing.Load(); n > 0; n = r.processing.Load() {
		if r.processing.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// processed records that the consumer has processed its value, if it had one.
func (r *sharedRun[T]) processed(c *sharer) {
	if !c.busy.Load() {
		return
	}
	c.busy.Store(false)
	if r.processing.Add(-1) == 0 {
		r.idle <- struct{}{}
	}
}

// leave removes the consumer from the run. The last consumer cancels the source before the source can continue, and
// waits for it.
func (s *shared[T]) leave(r *sharedRun[T], c *sharer) {
	s.mu.Lock()
	r.consumers = slices.DeleteFunc(r.consumers, func(other *sharer) bool { return other == c })
	last := len(r.consumers) == 0
	if last && s.current == r && !r.ended() {
		s.current = nil
	}
	stop := last && r.cancel != nil
	if stop {
		r.cancel()
	}
	r.processed(c)
	s.mu.Unlock()
	if stop {
		<-r.done
	}
}

// joint is a subscription in which one consumer of a shared stream may be held until another one has received a value.
// The other one may join late, when the held consumer has the first value already. It must receive this value too, or
// both would wait forever.
type joint struct {
	holding atomic.Int32 // number of operators that may hold a consumer
}

type jointKey struct{}

// withJoint returns the context of a joint subscription. The operator must call release when it holds no consumer any
// more.
func withJoint(ctx context.Context) (joined context.Context, release func()) {
	j, _ := ctx.Value(jointKey{}).(*joint)
	if j == nil {
		j = new(joint)
		ctx = context.WithValue(ctx, jointKey{}, j)
	}
	j.holding.Add(1)
	return ctx, sync.OnceFunc(func() { j.holding.Add(-1) })
}
