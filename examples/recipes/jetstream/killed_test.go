package jetstream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/jetstream"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the sequence of each message.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := uint64(0)
	e.Start(&at)
	messages := jetstream.Messages("nats://"+args[0], "events", at, heartbeat, proxy.Policy)
	return killed.Follow(ctx, e, 1000, messages, func(m jetstream.Message) (int, any) { return int(m.Sequence), m.Sequence })
}

func TestMessages_Killed(t *testing.T) {
	address, api, _ := serve(t)
	go publish(t, api, 1, 1000)
	killed.Check(t, "NATS JetStream", 10, 75, 1000, "0", address)
}
