// Package kafkagroup handles the records of a topic in a consumer group, with franz-go. A record that fails is tried
// again in its place, and then goes to a dead letter. Its offset is committed after its effect. When its partition goes
// to another member, the handler's context ends, and the rebalance waits until the handler has returned.
package kafkagroup

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrRevoked is the cause with which a handler's context ends when the group takes its partition away.
var ErrRevoked = errors.New("kafkagroup: the partition went to another member")

// Worker is how the records of a topic are handled.
type Worker struct {
	Topic     string
	Handle    func(context.Context, *kgo.Record) error        // must be idempotent: what is not committed comes again
	Bury      func(context.Context, *kgo.Record, error) error // stores a dead letter; its error ends Work
	Patience  retry.Policy                                    // for a record; its partition waits, so it has a Limit
	Reconnect stream.RetryHandler                             // for what franz-go gives up
}

// Work handles records until ctx ends, one after another. It returns an error if Bury fails, or if an offset cannot be
// committed. Options name the brokers and the group.
func (w Worker) Work(ctx context.Context, options ...kgo.Opt) error {
	return records(w.Topic, options).RetryWhen(w.Reconnect).TryForEach(ctx, func(ctx context.Context, d delivery) error {
		select {
		case d.busy <- struct{}{}:
			defer func() { <-d.busy }()
		case <-d.ctx.Done():
			return context.Cause(ctx) // nil: another member has the record
		}
		err := retry.Run(d.ctx, w.Patience, func(ctx context.Context) error { return w.Handle(ctx, d.record) })
		if err != nil && d.ctx.Err() == nil {
			err = w.Bury(d.ctx, d.record, err)
		}
		if err == nil {
			// Not under d.ctx: the effect is there, and the rebalance waits.
			err = retry.Run(ctx, w.Patience, func(ctx context.Context) error { return d.client.CommitRecords(ctx, d.record) })
		}
		if err != nil && d.ctx.Err() != nil {
			return context.Cause(ctx) // nil: the next member begins at the committed offset
		}
		return err
	})
}

// delivery is a record, and the partition that it came from.
type delivery struct {
	*partition
	client *kgo.Client
	record *kgo.Record
}

// partition is one that this member holds.
type partition struct {
	ctx  context.Context // ends when the group takes it away
	end  context.CancelCauseFunc
	busy chan struct{} // full while a record is handled
}

// records returns the records of the partitions that the group gives to this member. Each run joins the group anew,
// and begins at the committed offsets.
func records(topic string, options []kgo.Opt) stream.Stream[delivery] {
	return func(ctx context.Context, yield func(delivery) bool) error {
		m := &member{topic: topic, ctx: ctx, held: map[int32]*partition{}}
		client, err := kgo.NewClient(append(slices.Clone(options), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.revoked), kgo.OnPartitionsLost(m.revoked))...)
		if err != nil {
			return stream.Permanent(err)
		}
		defer client.Close()
		for {
			fetches := client.PollFetches(ctx)
			for _, d := range m.deliveries(client, fetches) {
				if !yield(d) {
					return nil
				}
			}
			if err := fetches.Err(); err != nil { // after the values: they are not fetched again
				return err
			}
		}
	}
}

// member is one run of records.
type member struct {
	topic string
	ctx   context.Context
	mu    sync.Mutex
	held  map[int32]*partition
}

func (m *member) assigned(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range topics[m.topic] {
		p := &partition{busy: make(chan struct{}, 1)}
		p.ctx, p.end = context.WithCancelCause(m.ctx)
		m.held[n] = p
	}
}

func (m *member) revoked(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	for _, n := range topics[m.topic] {
		m.mu.Lock()
		p := m.held[n]
		delete(m.held, n)
		m.mu.Unlock()
		if p != nil {
			p.end(ErrRevoked)
			p.busy <- struct{}{} // waits for the handler
		}
	}
}

// deliveries returns the fetched records of the partitions that it holds.
func (m *member) deliveries(client *kgo.Client, fetches kgo.Fetches) (all []delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		if p := m.held[r.Partition]; p != nil {
			all = append(all, delivery{p, client, r})
		}
	})
	return all
}
