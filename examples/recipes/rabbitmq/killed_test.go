package rabbitmq_test

import (
	"context"
	"net"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/rabbitmq"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has the effect of a delivery in its handler, before the acknowledgement.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	connect := func(ctx context.Context) (*amqp.Connection, error) {
		return dial(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, args[0])
		})(ctx)
	}
	links := rabbitmq.Connect(connect, connecting)
	defer links.Close()
	jobs := rabbitmq.Consume(links, "jobs", 2*heartbeat, 2, reconnect, retry.Default, func(_ context.Context, d rabbitmq.Delivery) error {
		e.Apply(nil, number(d))
		return nil
	})
	return jobs.TakeWhile(func(rabbitmq.Delivery) bool { return len(e.Counts()) < 300 }).ForEach(ctx, func(rabbitmq.Delivery) {})
}

func TestConsume_Killed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	b := &broker{}
	b.publish(1, 300)
	defer check.Accept(l, func(c net.Conn) { b.serve(t, c) })()
	defer l.Close()
	killed.Check(t, "RabbitMQ", 10, 25, 300, "10 to 40", l.Addr().String())
}
