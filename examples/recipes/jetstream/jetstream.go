// Package jetstream reads a stream of NATS JetStream by its sequence numbers. It reports messages that were purged
// before they were read.
package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Message is a message of the stream. Lost is the number of messages before it that were purged before they were read.
// If it is not 0, a consumer that builds up a state must read a snapshot first.
type Message struct {
	Sequence, Lost uint64
	Data           []byte
}

// Messages returns the messages with sequences after start, of a stream from which no single messages are deleted. The
// policy renews the connection, so nats.go does not reconnect. An attempt fails when the server's heartbeat is missing.
func Messages(url, name string, start uint64, heartbeat time.Duration, policy stream.RetryHandler) stream.Stream[Message] {
	return operators.Resume(start, func(at uint64) stream.Stream[Message] {
		return func(ctx context.Context, yield func(Message) bool) error {
			conn, err := nats.Connect(url, nats.NoReconnect(), nats.Timeout(2*heartbeat))
			if err != nil {
				return err
			}
			defer conn.Close()
			js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(2*heartbeat))
			if err != nil {
				return err
			}
			consumer, err := js.CreateConsumer(ctx, name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy,
				DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: at + 1, InactiveThreshold: time.Minute})
			if err != nil {
				return err
			}
			messages, err := consumer.Messages(jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(4*heartbeat))
			if err != nil {
				return err
			}
			defer messages.Stop()
			stream.Works(ctx) // the consumer is there, although no message may come for hours
			for last := at; ; {
				m, err := messages.Next(jetstream.NextContext(ctx))
				if err != nil {
					return err
				}
				meta, err := m.Metadata()
				if err != nil || !yield(Message{meta.Sequence.Stream, meta.Sequence.Stream - last - 1, m.Data()}) {
					return err
				}
				last = meta.Sequence.Stream
			}
		}
	}, func(_ uint64, m Message) uint64 { return m.Sequence }, policy)
}
