package operators

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// Share returns the stream whose consumers share one run of s: the first consumer starts it, others join it and get
// the values that come from then on, and the last one to leave cancels it. When the run has ended, every consumer that
// is there gets its end or error, and the next one to come starts a new run. (ReactiveX: share, publish().refCount().)
//
//	s:           --a--b--c--d--|        --a--b--
//	consumer 1:  --a--b--c--d--|
//	consumer 2:     --b--c (stops)
//	consumer 3:                         --a--b--
//
// Each consumer gets its values on its own goroutine, and s waits until all of them have processed the value: nothing
// is buffered, nobody misses a value, and the slowest consumer slows all. stream.Buffer behind Share gives a consumer
// room. Two consumers of which one waits for the other, as in ZipWith(shared, shared.Skip(1), …), or a consumer that
// runs the shared stream inside its own yield, need it, or they wait for ever.
//
// The run of s has a goroutine of its own and a context of its own. That has the values, such as the clock, of the
// context that started it, but neither its end nor its deadline: a consumer whose context ends leaves alone, and gets
// its cause. Whoever leaves last waits until s has returned; and a new run does not begin before the last one has
// returned. A panic of s is raised in each consumer.
//
// The returned stream is one value to be used by all the consumers; it is safe for concurrent use. Share(s) twice makes
// two that share nothing. A nil s panics.
func Share[T any](s stream.Stream[T]) stream.Stream[T] {
	notNil("Share", "s", s == nil)
	return (&shared[T]{source: s, quorum: 1}).run
}

// ShareN is Share with a run of s that starts when the n-th consumer is there, so that n consumers that come at about
// the same time all get its first value. Those that come first wait. (RxJava: publish().refCount(n).)
//
//	s:               --a--b--c--|
//	consumer 1:  ------a--b--c--|
//	consumer 2:      --a--b--c--|
//
// Later it goes on as long as any consumer is left. When it has ended, the next run waits for n consumers again. A nil
// s and an n below 1 panic.
func ShareN[T any](s stream.Stream[T], n int) stream.Stream[T] {
	notNil("ShareN", "s", s == nil)
	if n < 1 {
		panicf("ShareN", "n is %d, want at least 1", n)
	}
	return (&shared[T]{source: s, quorum: n}).run
}

// shared is the stream that Share returns.
type shared[T any] struct {
	source stream.Stream[T]
	quorum int

	mu      sync.Mutex
	current *sharedRun[T] // the one to join, if there is one
	running *sharedRun[T] // the one whose source was started last and has not returned yet
}

// sharedRun is one run of the source. Its goroutine belongs to the consumers that are there; the last one waits for it.
type sharedRun[T any] struct {
	cancel    context.CancelFunc // nil before the source is started
	consumers []*sharer
	busy      int           // how many consumers have the present value in hand
	idle      chan struct{} // one signal: busy is 0 again
	value     T
	done      chan struct{} // closed when the source has returned; what follows is written before
	err       error
	outcome   relay.Outcome
}

// sharer is one consumer.
type sharer struct {
	values chan struct{} // one signal: there is a value
	busy   bool          // it has not processed it yet
	joint  *joint        // nil: it waits for no other one
}

// joint is a subscription that may hold one of its consumers of a shared stream until another one has had a value.
// That one may be late: it joins when the first value is already in the hands of the other, who keeps it. It gets this value too,
// or both would wait forever.
type joint struct {
	holding atomic.Int32 // how many operators may hold a consumer
}

type jointKey struct{}

// jointSubscription returns the context of a joint subscription, and what to call when nothing is held any more.
func jointSubscription(ctx context.Context) (context.Context, func()) {
	j, _ := ctx.Value(jointKey{}).(*joint)
	if j == nil {
		j = new(joint)
		ctx = context.WithValue(ctx, jointKey{}, j)
	}
	j.holding.Add(1)
	return ctx, sync.OnceFunc(func() { j.holding.Add(-1) })
}

// give hands the run's present value to the consumer.
func (c *sharer) give() {
	c.busy = true
	c.values <- struct{}{}
}

// run is the shared stream.
func (s *shared[T]) run(ctx context.Context, yield func(T) bool) error {
	if err := ending.Of(ctx); err != nil {
		return err
	}
	r, c := s.join(ctx)
	err := s.consume(ctx, r, c, yield)
	select {
	case <-r.done:
		r.outcome.Raise()
	default: // others are still there
	}
	return err
}

// join adds a consumer to the present run, or to a new one, and starts that if there are enough.
func (s *shared[T]) join(ctx context.Context) (*sharedRun[T], *sharer) {
	c := &sharer{values: make(chan struct{}, 1)}
	c.joint, _ = ctx.Value(jointKey{}).(*joint)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.current
	if r == nil {
		r = &sharedRun[T]{idle: make(chan struct{}, 1), done: make(chan struct{})}
		s.current = r
	}
	if c.joint != nil && c.joint.holding.Load() > 0 && slices.ContainsFunc(r.consumers, func(other *sharer) bool {
		return other.busy && other.joint == c.joint
	}) {
		r.busy++
		c.give()
	}
	r.consumers = append(r.consumers, c)
	if r.cancel == nil && len(r.consumers) >= s.quorum {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r.cancel = cancel
		var before <-chan struct{}
		if s.running != nil {
			before = s.running.done
		}
		s.running = r
		go s.start(own, r, before)
	}
	return r, c
}

// start runs the source when the run before it has returned.
func (s *shared[T]) start(ctx context.Context, r *sharedRun[T], before <-chan struct{}) {
	defer s.finish(r)
	r.outcome.Of(func() {
		if before != nil {
			<-before
		}
		if r.err = ending.Of(ctx); r.err != nil {
			return
		}
		r.err = s.source(ctx, func(v T) bool { return s.deliver(r, v) })
	})
}

// finish ends the run for those who are there; it cannot be joined any more.
func (s *shared[T]) finish(r *sharedRun[T]) {
	s.mu.Lock()
	if s.current == r {
		s.current = nil
	}
	if s.running == r {
		s.running = nil
	}
	s.mu.Unlock()
	r.cancel()
	close(r.done)
}

// deliver is the source's yield: it returns when all consumers have processed v, false when none is left.
func (s *shared[T]) deliver(r *sharedRun[T], v T) bool {
	s.mu.Lock()
	r.value = v
	n := len(r.consumers)
	r.busy = n
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

// consume hands the values to one consumer until it leaves.
func (s *shared[T]) consume(ctx context.Context, r *sharedRun[T], c *sharer, yield func(T) bool) error {
	defer s.leave(r, c)
	for {
		select {
		case <-c.values:
			if err := ending.Of(ctx); err != nil {
				return err
			}
			if !yield(r.value) {
				return nil
			}
			s.mu.Lock()
			s.processed(r, c)
			s.mu.Unlock()
		case <-r.done:
			return ending.Under(ctx, r.err)
		case <-ctx.Done():
			return ending.Of(ctx)
		}
	}
}

// processed notes that the consumer is done with the value it had in hand, if any.
func (s *shared[T]) processed(r *sharedRun[T], c *sharer) {
	if !c.busy {
		return
	}
	c.busy = false
	if r.busy--; r.busy == 0 {
		r.idle <- struct{}{}
	}
}

// leave takes the consumer from the run; the last one cancels the source, before that can go on, and waits for it.
func (s *shared[T]) leave(r *sharedRun[T], c *sharer) {
	s.mu.Lock()
	r.consumers = slices.DeleteFunc(r.consumers, func(other *sharer) bool { return other == c })
	last := len(r.consumers) == 0
	if last && s.current == r {
		s.current = nil
	}
	stop := last && r.cancel != nil
	if stop {
		r.cancel()
	}
	s.processed(r, c)
	s.mu.Unlock()
	if stop {
		<-r.done
	}
}
