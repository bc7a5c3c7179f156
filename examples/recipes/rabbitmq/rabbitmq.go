// Package rabbitmq has consumers and publishers of RabbitMQ that share one connection. A consumer handles each message at
// least once. A delivery belongs to the channel that delivered it: when that breaks, the broker delivers it again, here
// or to another consumer. So all that is done with a delivery ends with its connection.
package rabbitmq

import (
	"context"
	"errors"
	"sync"
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

// Link is a connection, and the channel on which all publishers publish.
type Link struct {
	conn    *amqp.Connection
	publish *amqp.Channel
}

// Connect returns the connection that the publishers and consumers of a process share. dial makes one that is closed
// when the context ends that dial gets; the connection's heartbeats find silence. The policy has no Limit, and an
// AttemptTimeout, because amqp091-go waits forever for a silent broker; the library's own recovery stays off.
func Connect(dial func(context.Context) (*amqp.Connection, error), policy retry.Policy) *retry.Shared[*Link] {
	return retry.NewShared(policy, func(ctx context.Context) (*Link, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		channel, err := conn.Channel()
		if err == nil {
			err = channel.Confirm(false)
		}
		if err != nil {
			_ = conn.CloseDeadline(time.Now())
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now()) }) // wakes all who read it
		return &Link{conn, channel}, nil
	}).CloseWith(func(l *Link) { _ = l.conn.CloseDeadline(time.Now().Add(soon)) })
}

// Publish publishes a message and waits for the broker's confirmation. If the connection breaks, it publishes once more
// on a new one: a message whose confirmation was lost comes twice, with the same MessageId.
func Publish(ctx context.Context, links *retry.Shared[*Link], exchange, key string, m amqp.Publishing) error {
	return links.Do(ctx, func(ctx context.Context, l *Link) error {
		confirmation, err := l.publish.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, m)
		if err == nil {
			var taken bool
			if taken, err = confirmation.WaitContext(ctx); err == nil && !taken {
				err = ErrRefused
			}
		}
		if err != nil && l.publish.IsClosed() {
			return links.Broken(err)
		}
		return err
	})
}

// ErrRefused is returned by Publish if the broker has not taken the message.
var ErrRefused = errors.New("rabbitmq: the message was not confirmed")

// Consume calls handle for the messages of the queue, for up to workers of them at once, and returns the deliveries
// that it has acknowledged. A handler that fails is called again as the policy each says, while others go on. When that
// gives up, the message is rejected: the broker moves it to the queue's dead letter exchange, or drops it if there is
// none.
//
// handle's context ends with the connection, and handle should return then: the message comes again, with Redelivered
// true, and so does one whose acknowledgement was lost. Until it consumes, silence is the most that it waits for the
// broker. The policy reconnect consumes again.
func Consume(links *retry.Shared[*Link], queue string, silence time.Duration, workers int, reconnect, each retry.Policy,
	handle func(context.Context, Delivery) error) stream.Stream[Delivery] {
	var deliveries stream.Stream[Delivery] = func(ctx context.Context, yield func(Delivery) bool) error {
		return links.Try(ctx, func(ctx context.Context, l *Link) error { return l.deliver(ctx, links, queue, silence, workers, yield) })
	}
	work := func(ctx context.Context, d Delivery) (Delivery, error) { return d, handle(ctx, d) }
	o := operators.MapRetryOptions[Delivery]{Workers: workers, Context: func(_ context.Context, d Delivery) context.Context { return d.ctx }}
	o.DeadLetter = func(_ context.Context, d Delivery, _ *retry.Error) error { _ = d.Reject(false); return nil } // not on a closed channel
	done := operators.MapRetry(deliveries.RetryWhen(reconnect), each, work, o)
	return done.Filter(func(d Delivery) bool { return d.Ack(false) == nil }) // in handle, a failed Ack would repeat the effect
}

// deliver yields the messages of the queue until the channel is closed.
func (l *Link) deliver(ctx context.Context, links *retry.Shared[*Link], queue string, silence time.Duration, workers int, yield func(Delivery) bool) error {
	consuming := limit(ctx, l.conn, silence)
	defer consuming()
	channel, err := l.conn.Channel()
	if err != nil {
		return links.Broken(err)
	}
	defer closeChannel(l.conn, channel)
	if err := channel.Qos(2*workers, 0, false); err != nil {
		return links.Broken(err)
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	incoming, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return links.Broken(err)
	}
	consuming()
	stream.Works(ctx) // although no message may come for hours
	for proven := false; ; {
		var d amqp.Delivery
		open := false
		select {
		case d, open = <-incoming: // until the channel is closed, or the broker cancels the consumer
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !open || channel.IsClosed() { // what amqp091-go still has comes again
			break
		}
		if !proven { // the connection works: a break begins its waits anew
			proven = links.Try(ctx, func(context.Context, *Link) error { return nil }) == nil
		}
		if !yield(Delivery{d, ctx}) {
			return nil
		}
	}
	err = amqp.ErrClosed
	if len(closed) > 0 {
		err = <-closed
	}
	if l.conn.IsClosed() {
		return links.Broken(err)
	}
	return err
}

// soon is how long the broker may take for a channel that is left.
const soon = 300 * time.Millisecond

// limit closes a connection whose broker is silent for d, or soon after ctx has ended, until done is called.
func limit(ctx context.Context, conn *amqp.Connection, d time.Duration) (done func()) {
	ended := make(chan struct{})
	within := func(d time.Duration) {
		select {
		case <-ended:
		case <-time.After(d):
			_ = conn.CloseDeadline(time.Now())
		}
	}
	stop := context.AfterFunc(ctx, func() { within(soon) })
	go within(d)
	return sync.OnceFunc(func() { stop(); close(ended) })
}

func closeChannel(conn *amqp.Connection, channel *amqp.Channel) {
	defer limit(context.Background(), conn, soon)()
	_ = channel.Close()
}
