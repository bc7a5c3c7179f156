package durable

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// bound bounds the number of dead letters.
type bound struct {
	*backend
	next atomic.Int64 // the time of the next check, in nanoseconds
}

// check removes the oldest dead letters if there are more than Config.MaxDead. It checks at most once per second.
func (b *bound) check(ctx context.Context) {
	now, next := time.Now().UnixNano(), b.next.Load()
	if now < next || !b.next.CompareAndSwap(next, now+int64(time.Second)) {
		return
	}
	n, err := b.count(ctx, dead)
	if err == nil && n > b.config.MaxDead {
		b.config.Logger.Warn("the oldest dead letters are removed, Config.MaxDead is reached", "removed", n-b.config.MaxDead)
		err = b.jobs.Purge(ctx, jetstream.WithPurgeSubject(b.config.subjects("*", string(dead))), jetstream.WithPurgeKeep(uint64(b.config.MaxDead)))
	}
	if err != nil {
		b.config.Logger.Warn("the number of dead letters could not be bounded", "error", err)
	}
}
