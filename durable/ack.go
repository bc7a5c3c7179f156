package durable

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// acks sends acknowledgements. It waits for the server's response only once in every ackWindow, so that few attempts
// are repeated if the process or the server is killed.
type acks struct {
	sent atomic.Int64
}

const ackWindow = 64

func (a *acks) send(ctx context.Context, m jetstream.Msg) error {
	if a.sent.Add(1)%ackWindow != 0 {
		return m.Ack()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := m.DoubleAck(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.Canceled) {
		return nil // it was sent
	}
	return err
}
