// Package rabbitmq consumes a queue of RabbitMQ, each message at least once. A delivery belongs to the channel that
// delivered it: when that breaks, the broker delivers it again, here or to another consumer. So all that is done with a
// delivery ends with its connection.
package rabbitmq

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Delivery is a message, and the context of the connection that has delivered it.
type Delivery struct {
	amqp.Delivery
	ctx context.Context
}

// Consume calls handle for the messages of the queue, for up to workers of them at once, and returns the deliveries
// that it has acknowledged. A handler that fails is called again as the policy each says, while others go on. When that
// gives up, the message is rejected: the broker moves it to the queue's dead letter exchange, or drops it if there is
// none.
//
// handle's context ends with the connection, and handle should return then: the message comes again, with Redelivered
// true, and so does one whose acknowledgement was lost. dial makes a new connection, and returns when its context ends;
// the connection's heartbeats find silence, and until it consumes, silence is the most that it waits. The policy
// reconnect renews the connection, so amqp091-go's own recovery stays off.
func Consume(dial func(context.Context) (*amqp.Connection, error), queue string, silence time.Duration, workers int,
	reconnect, each retry.Policy, handle func(context.Context, Delivery) error) stream.Stream[Delivery] {
	var deliveries stream.Stream[Delivery] = func(ctx context.Context, yield func(Delivery) bool) error {
		conn, err := dial(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) }()
		defer context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now()) })()
		slow := time.AfterFunc(silence, func() { _ = conn.CloseDeadline(time.Now()) }) // amqp091-go would wait forever
		defer slow.Stop()
		channel, err := conn.Channel()
		if err != nil {
			return err
		}
		if err := channel.Qos(2*workers, 0, false); err != nil {
			return err
		}
		closed := channel.NotifyClose(make(chan *amqp.Error, 1))
		incoming, err := channel.Consume(queue, "", false, false, false, false, nil)
		if err != nil {
			return err
		}
		slow.Stop()
		stream.Works(ctx)         // although no message may come for hours
		for d := range incoming { // until the channel is closed, or the broker cancels the consumer
			if channel.IsClosed() || !yield(Delivery{d, ctx}) { // what amqp091-go still has comes again
				break
			}
		}
		if len(closed) > 0 {
			return <-closed
		}
		return nil
	}
	work := func(ctx context.Context, d Delivery) (Delivery, error) { return d, handle(ctx, d) }
	o := operators.MapRetryOptions[Delivery]{Workers: workers, Context: func(_ context.Context, d Delivery) context.Context { return d.ctx }}
	o.DeadLetter = func(_ context.Context, d Delivery, _ *retry.Error) error { _ = d.Reject(false); return nil } // not on a closed channel
	done := operators.MapRetry(deliveries.MustNotEnd(amqp.ErrClosed).RetryWhen(reconnect), each, work, o)
	return done.Filter(func(d Delivery) bool { return d.Ack(false) == nil }) // in handle, a failed Ack would repeat the effect
}
