package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Stats holds the numbers of jobs in a queue, as counted by the server for all processes.
type Stats struct {
	Ready   int // jobs that wait for a worker
	Running int // jobs that workers have: running attempts, short waits and jobs fetched ahead
	Later   int // jobs whose time has not come: of retries and of PutAt
	Dead    int // dead letters
}

// Stats fetches the numbers from the server, one after another. Jobs that move meanwhile may be counted twice or, if
// they wait and become due while Stats runs, not at all: ask again before a queue is taken to be empty. The server
// looks at all jobs that wait for that: with a million of them it takes 0.3 to 1.6 s, so ask at most a few times a
// minute then.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	s, err := q.numbers(ctx)
	if err != nil {
		return Stats{}, explain("stats", err)
	}
	return s, nil
}

// numbers counts each stage once, the later ones twice.
func (q *Queue) numbers(ctx context.Context) (s Stats, err error) {
	waiting, err := q.count(ctx, later) // counted before the others and after, because jobs move in both directions
	if err != nil {
		return s, err
	}
	for _, st := range []stage{again, first} {
		info, err := q.consumer(st).Info(ctx)
		if err != nil {
			return s, err
		}
		ready := int(info.NumPending)
		if ready+info.NumAckPending == 0 {
			if ready, err = q.probe(ctx, st, info.AckFloor.Stream+1); err != nil {
				return s, err
			}
		}
		s.Ready += ready
		s.Running += info.NumAckPending
	}
	if s.Later, err = q.count(ctx, later); err != nil {
		return s, err
	}
	s.Later = max(s.Later, waiting)
	s.Dead, err = q.count(ctx, dead)
	return s, err
}

// count returns how many messages of the stage there are.
func (b *backend) count(ctx context.Context, s stage) (int, error) {
	c, err := b.ensureCounter(ctx, s)
	if err != nil {
		return 0, err
	}
	if n := c.CachedInfo().NumPending; n > 0 {
		return int(n), nil
	}
	return b.probe(ctx, s, 1)
}

// ensureCounter returns the consumer that counts the messages of the stage, and creates it if it does not exist: it is
// in the memory of the server only.
func (b *backend) ensureCounter(ctx context.Context, s stage) (jetstream.Consumer, error) {
	want := b.config.counter(s)
	c, err := b.jobs.Consumer(ctx, want.Durable)
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return c, err
	}
	err = b.ask(ctx, "CONSUMER.CREATE."+b.config.streamName()+"."+want.Durable, func(ctx context.Context) error {
		if c, err = b.jobs.CreateOrUpdateConsumer(ctx, want); err == nil {
			_, err = c.Info(ctx) // a consumer that was just created has not counted yet
		}
		return err
	})
	return c, err
}

// probe returns 1 if there is a message of the stage from the sequence on, else 0. After a change of leader in a
// cluster, a consumer's count may be too low for a moment. Reading the messages themselves misses none.
func (b *backend) probe(ctx context.Context, s stage, from uint64) (int, error) {
	m, err := b.next(ctx, b.config.subjects("*", string(s)), from)
	if err != nil || m == nil {
		return 0, err
	}
	return 1, nil
}

// String returns the numbers in one line.
func (s Stats) String() string {
	return fmt.Sprintf("ready %d, running %d, later %d, dead %d", s.Ready, s.Running, s.Later, s.Dead)
}

// Counts holds the numbers of what one Queue has done since Open. Other Queues with the same name have their own.
type Counts struct {
	Put        int64 // jobs put or revived
	Duplicates int64 // jobs not put, because their id was known
	Attempts   int64 // attempts begun
	Done       int64 // jobs done
	Retried    int64 // retries decided
	Died       int64 // jobs given up
	HandedBack int64 // jobs handed back, before an attempt or after one that was cut off
}

// Counts returns what this Queue has done. It sends no request.
func (q *Queue) Counts() Counts {
	c := &q.counts
	return Counts{c.put.Load(), c.duplicates.Load(), c.attempts.Load(), c.done.Load(), c.retried.Load(), c.died.Load(), c.handedBack.Load()}
}

// String returns the numbers in one line.
func (c Counts) String() string {
	return fmt.Sprintf("put %d (and %d duplicates), attempts %d, done %d, retried %d, died %d, handed back %d",
		c.Put, c.Duplicates, c.Attempts, c.Done, c.Retried, c.Died, c.HandedBack)
}
