package ending

import "context"

// Consumer is the consumer of one run of a stream. It must be used on the run's goroutine.
type Consumer[T any] struct {
	yield   func(T) bool
	stopped bool
}

// NewConsumer returns the consumer with the given yield.
func NewConsumer[T any](yield func(T) bool) *Consumer[T] { return &Consumer[T]{yield: yield} }

// Deliver calls yield with v and returns its result. Once yield has returned false, Deliver returns false without a
// call.
func (c *Consumer[T]) Deliver(v T) bool {
	c.stopped = c.stopped || !c.yield(v)
	return !c.stopped
}

// Stopped reports whether the consumer has stopped.
func (c *Consumer[T]) Stopped() bool { return c.stopped }

// End returns the result of the run: nil if the consumer has stopped, else Error(ctx, failures...).
func (c *Consumer[T]) End(ctx context.Context, failures ...error) error {
	if c.stopped {
		return nil
	}
	return Error(ctx, failures...)
}
