// Package kafka follows the partitions of a topic with franz-go, outside of a consumer group: the position belongs to
// the program, which can store it with its effects.
package kafka

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Partitions is the number of the topic's partitions.
const Partitions = 3

// Position is the next offset of each partition. An array is copied when it is assigned; a map would be shared.
type Position [Partitions]int64

// Beginning is the offset of a partition of which nothing was read: where its log begins, which is 0 only if retention
// has deleted nothing. Until its first record was read, what retention deletes is not missed. If it must be, ask the
// broker for the offsets of the beginning once, and store them.
const Beginning = -1

// After returns the position after the fetches. It counts the control records of transactions too, so that a log that
// ends with them does not leave the position behind, where retention would delete it.
func After(at Position, fetches kgo.Fetches) Position {
	fetches.EachRecord(func(r *kgo.Record) { at[r.Partition] = r.Offset + 1 })
	return at
}

// Follow returns what follows start, in fetches of many records: one position per fetch, not per record. franz-go
// renews its connections by itself; the policy is for what it does not see, brokers that are silent for longer than
// silence, and for errors of partitions. An offset that retention has deleted is a permanent error,
// kerr.OffsetOutOfRange; by default franz-go goes on elsewhere.
//
// A topic without new records is silent too: franz-go does not report the broker's empty replies. So an idle topic
// connects anew after each silence, at its position, and loses nothing. Take some minutes, and a policy that has
// retry.ResetAfter with less in addition to ResetAfterItems; else Limit counts these reconnects.
// Skip control records: those whose Attrs.IsControl reports true.
func Follow(topic string, start Position, silence time.Duration, policy stream.RetryHandler, options ...kgo.Opt) stream.Stream[kgo.Fetches] {
	open := func(at Position) stream.Stream[kgo.Fetches] {
		return stream.Stream[kgo.Fetches](func(ctx context.Context, yield func(kgo.Fetches) bool) error {
			offsets := map[int32]kgo.Offset{}
			for partition, next := range at {
				offsets[int32(partition)] = kgo.NewOffset().At(next)
				if next == Beginning {
					offsets[int32(partition)] = kgo.NewOffset().AtStart()
				}
			}
			from := kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
			client, err := kgo.NewClient(append(slices.Clone(options), from, kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)
			if err != nil {
				return stream.Permanent(err)
			}
			defer client.Close()
			for {
				fetches := client.PollFetches(ctx)
				if err := fetches.Err(); errors.Is(err, kerr.OffsetOutOfRange) {
					return stream.Permanent(err)
				} else if err != nil || !yield(fetches) {
					return err
				}
			}
		}).Timeout(silence)
	}
	return operators.Resume(start, open, After, policy)
}
