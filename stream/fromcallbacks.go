package stream

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// FromCallbacks makes a stream of a client that calls back, as those of MQTT and AMQP and most SDKs do. Each run calls
// listen once, on a goroutine of its own, with the run's context. listen subscribes, passes push to the client as the
// callback, or calls it in one, and must not return while it listens: it waits for the end of its connection or for
// <-ctx.Done(). When it returns, the run ends: with nil well, which MustNotEnd makes a failure; with an error the run
// fails. So RetryWhen and operators.Resume connect again by calling listen again.
//
//	push:    a--b----c
//	listen:  ----------return err
//	result:  a--b----c-#
//
// push may be called on any goroutine, by several at once. The values come in the order of the calls. push waits until
// the consumer has taken the value, and returns what the consumer's yield returned. So a client that acknowledges what
// it has delivered can do so when push has returned true; with Buffer, Batch or MapRetry after FromCallbacks, true means
// only that the value is held there. When the run is over, because listen has returned, the consumer has stopped or ctx
// has ended, push returns false and waits no more: the value must not be acknowledged. If ctx ends while the consumer is
// busy with a value, the push of that value returns false too, although the consumer may still take the value: its
// memory must not be reused.
//
// A push that waits when listen returns is delivered before the end. A consumer that stops, and the end of ctx, end
// listen's context and release the pushes that wait; then the run waits for listen. The error that listen returns then
// is dropped if the consumer has stopped, and joined with ctx's cause if ctx has ended. A panic of listen, or a
// runtime.Goexit, reaches the caller of the stream.
//
// A consumer that calls push itself waits until ctx ends. While push waits, a client that reads its connection on the
// callback's goroutine reads nothing, keepalives included: put a Buffer after FromCallbacks, and acknowledge in the
// consumer: what the Buffer holds dies with the process.
func FromCallbacks[T any](listen func(ctx context.Context, push func(T) bool) error) Stream[T] {
	requireFunc(listen == nil, "FromCallbacks: listen")
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		run, cancel := context.WithCancel(scope.Context())
		defer cancel() // releases the pushes that wait, before the scope waits for listen
		c := &callbacks[T]{pushes: make(chan pushed[T]), over: run.Done(), spare: make(chan chan bool, 8)}
		defer c.answer(false) // for a panic of the consumer
		scope.OnEnd(c.wake)
		listener := scope.Go(func(context.Context) error {
			defer c.end()
			return listen(run, c.push)
		})
		for !out.Stopped() {
			v, ok := c.next(scope.Context())
			if !ok {
				return listener.End()
			}
			c.answer(out.Deliver(v))
		}
		return nil
	})
}

// callbacks passes the values of one run of FromCallbacks to its consumer.
type callbacks[T any] struct {
	pushes   chan pushed[T]
	over     <-chan struct{} // closed when ctx or the run has ended
	returned atomic.Bool     // listen has
	spare    chan chan bool  // for later pushes

	taken chan bool   // of the value that the consumer has in hand
	busy  atomic.Bool // that value is not answered yet
}

// pushed is a value and the channel for its answer: what the consumer's yield returned, or false. Without a channel it
// is the end of listen, which comes after the pushes that waited before, or of the context.
type pushed[T any] struct {
	value T
	taken chan bool
}

// push is the function that listen receives. A value that was sent is always answered.
func (c *callbacks[T]) push(v T) bool {
	if c.returned.Load() {
		return false
	}
	p := pushed[T]{value: v}
	select {
	case p.taken = <-c.spare:
	default:
		p.taken = make(chan bool, 1)
	}
	more := c.send(p) && <-p.taken
	select {
	case c.spare <- p.taken:
	default:
	}
	return more
}

// send passes p to the consumer, and reports whether it has.
func (c *callbacks[T]) send(p pushed[T]) bool {
	select {
	case c.pushes <- p: // the consumer waits already: cheaper than a select of two channels
		return true
	default:
	}
	select {
	case c.pushes <- p:
		return true
	case <-c.over:
		return false
	}
}

// end is called when listen has returned, or is unwound.
func (c *callbacks[T]) end() {
	c.returned.Store(true)
	c.send(pushed[T]{})
}

// wake is called when the context has ended: the consumer may be busy, or wait for a value.
func (c *callbacks[T]) wake(closed <-chan struct{}) {
	c.answer(false)
	select {
	case c.pushes <- pushed[T]{}:
	case <-closed:
	}
}

// next waits for the next value. It returns false when listen or the context has ended.
func (c *callbacks[T]) next(ctx context.Context) (v T, ok bool) {
	if ctx.Err() != nil { // wake may be reading taken
		return v, false
	}
	p := <-c.pushes
	if p.taken == nil {
		return v, false
	}
	c.taken = p.taken
	c.busy.Store(true)
	if ctx.Err() != nil { // wake may have looked for the value already
		c.answer(false)
		return v, false
	}
	return p.value, true
}

// answer answers the value in hand, if it is not answered yet.
func (c *callbacks[T]) answer(more bool) {
	if c.busy.CompareAndSwap(true, false) {
		c.taken <- more
	}
}
