// Package redis consumes a stream of Redis as a member of a group. Each entry is retried separately and acknowledged
// after its effect. If the policy gives up, the entry becomes a dead letter. When the connection breaks, the entries in
// flight stay in flight.
package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Consume returns the IDs of the entries whose effect is done and acknowledged: first of those that an earlier process
// with the same name has left, then of new ones. The policy each decides about failed effects. The entries that it
// gives up are stored in the hash key:dead. An attempt fails when the server is silent for twice as long as a read may
// block, or for db's ReadTimeout when it creates the group: block is best some seconds, because the server ends a read
// up to 0.1 s late. Cancelling may take as long. Each attempt creates the group, at the stream's beginning, and the
// stream if they are missing: a server may come back without them.
//
// db must have ContextTimeoutEnabled, and MaxRetries -1, because a client that repeats a read of new entries skips
// those whose response was lost.
func Consume(db *redis.Client, key, group, name string, block time.Duration, reconnect, each retry.Policy,
	effect func(context.Context, redis.XMessage) error) stream.Stream[string] {
	behind := func(at string) stream.Stream[redis.XMessage] {
		return func(ctx context.Context, yield func(redis.XMessage) bool) error {
			if err := db.XGroupCreateMkStream(ctx, key, group, "0").Err(); err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
				return err
			}
			// First all entries after at that the server has delivered before and that are not acknowledged.
			args := redis.XReadGroupArgs{Group: group, Consumer: name, Streams: []string{key, at}, Block: block}
			for {
				read, cancel := context.WithTimeout(ctx, 2*block)
				got, err := db.XReadGroup(read, &args).Result()
				cancel()
				stop := func(e redis.XMessage) bool { return !yield(e) }
				if err != nil && err != redis.Nil || len(got) > 0 && slices.ContainsFunc(got[0].Messages, stop) {
					return err // nil if the consumer has stopped
				}
				stream.Works(ctx) // also without an entry
				args.Streams[1], args.Count = ">", 100
			}
		}
	}
	acknowledge := func(ctx context.Context, id string, also func(redis.Pipeliner)) error {
		return retry.Run(ctx, reconnect.With(retry.AttemptTimeout(2*block)), func(ctx context.Context) error {
			_, err := db.TxPipelined(ctx, func(p redis.Pipeliner) error {
				also(p)
				return p.XAck(ctx, key, group, id).Err()
			})
			return err
		})
	}
	entries := operators.Resume("0", behind, func(_ string, e redis.XMessage) string { return e.ID }, reconnect)
	done := operators.MapRetry(entries, each, func(ctx context.Context, e redis.XMessage) (string, error) {
		return e.ID, effect(ctx, e)
	}, operators.MapRetryOptions[redis.XMessage]{DeadLetter: func(ctx context.Context, e redis.XMessage, _ *retry.Error) error {
		return acknowledge(ctx, e.ID, func(p redis.Pipeliner) { p.HSet(ctx, key+":dead", e.ID, fmt.Sprint(e.Values)) })
	}})
	return operators.TryMap(done, func(ctx context.Context, id string) (string, error) {
		return id, acknowledge(ctx, id, func(redis.Pipeliner) {})
	})
}
