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
		var mu sync.Mutex
		held := map[int32]*partition{}
		assigned := func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range topics[topic] {
				p := &partition{busy: make(chan struct{}, 1)}
				p.ctx, p.end = context.WithCancelCause(ctx)
				held[n] = p
			}
		}
		revoked := func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			for _, n := range topics[topic] {
				mu.Lock()
				p := held[n]
				delete(held, n)
				mu.Unlock()
				if p != nil {
					p.end(ErrRevoked)
					p.busy <- struct{}{} // waits for the handler
				}
			}
		}
		client, err := kgo.NewClient(append(slices.Clone(options), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.OnPartitionsAssigned(assigned), kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked))...)
		if err != nil {
			return stream.Permanent(err)
		}
		defer client.Close()
		for {
			fetches := client.PollFetches(ctx)
			mu.Lock()
			var all []delivery
			fetches.EachRecord(func(r *kgo.Record) {
				if p := held[r.Partition]; p != nil {
					all = append(all, delivery{p, client, r})
				}
			})
			mu.Unlock()
			for _, d := range all {
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
