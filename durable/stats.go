package durable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// Stats is how a queue stands, by the server, whichever processes have worked on it.
type Stats struct {
	Ready   int // jobs that wait for a worker
	Running int // jobs that workers have: attempts that run, short waits, and what was fetched ahead
	Later   int // jobs whose time has not come: retries and PutAt
	Dead    int // dead letters
}

// Stats asks the server. The numbers are taken one after another, so that jobs that move meanwhile may be counted
// twice, but a queue with jobs in it does not look empty.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	waiting, err := q.count(ctx, later) // before the others and after: jobs move to and fro
	if err != nil {
		return Stats{}, explain("stats", err)
	}
	for _, st := range []stage{again, first} {
		info, err := q.consumer(st).Info(ctx)
		if err != nil {
			return Stats{}, explain("stats", err)
		}
		ready := int(info.NumPending)
		if ready+info.NumAckPending == 0 {
			if ready, err = q.probe(ctx, st, info.AckFloor.Stream+1); err != nil {
				return Stats{}, explain("stats", err)
			}
		}
		s.Ready += ready
		s.Running += info.NumAckPending
	}
	if s.Later, err = q.count(ctx, later); err != nil {
		return Stats{}, explain("stats", err)
	}
	s.Later = max(s.Later, waiting)
	if s.Dead, err = q.count(ctx, dead); err != nil {
		return Stats{}, explain("stats", err)
	}
	return s, nil
}

// count returns how many messages of the stage there are.
func (q *Queue) count(ctx context.Context, s stage) (int, error) {
	want := q.config.counter(s)
	c, err := q.jobs.Consumer(ctx, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if c, err = q.jobs.CreateOrUpdateConsumer(ctx, want); err == nil {
			_, err = c.Info(ctx) // a new one has not counted yet when it is made
		}
	}
	if err != nil {
		return 0, err
	}
	if n := c.CachedInfo().NumPending; n > 0 {
		return int(n), nil
	}
	return q.probe(ctx, s, 1)
}

// probe returns 1 if there is a message of the stage from the sequence on, else 0. What a consumer counts may be too
// little for a moment, when the leader of a cluster has changed; the messages themselves are never overlooked.
func (q *Queue) probe(ctx context.Context, s stage, from uint64) (int, error) {
	_, err := q.jobs.GetMsg(ctx, from, jetstream.WithGetMsgSubject(q.config.subjects("*", string(s))))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return 1, nil
}

// String returns the numbers in one line.
func (s Stats) String() string {
	return fmt.Sprintf("ready %d, running %d, later %d, dead %d", s.Ready, s.Running, s.Later, s.Dead)
}

// Counts is what this Queue, of all that may have the same name, has done since Open.
type Counts struct {
	Put        int64 // jobs put, or revived
	Duplicates int64 // jobs not put, for their id was known
	Attempts   int64 // attempts begun
	Done       int64 // jobs done
	Retried    int64 // retries decided
	Died       int64 // jobs given up
	HandedBack int64 // jobs handed back unattempted, or with their attempt cut off
}

// Counts returns what this Queue has done. It asks nobody.
func (q *Queue) Counts() Counts {
	return Counts{
		Put:        q.counts.put.Load(),
		Duplicates: q.counts.duplicates.Load(),
		Attempts:   q.counts.attempts.Load(),
		Done:       q.counts.done.Load(),
		Retried:    q.counts.retried.Load(),
		Died:       q.counts.died.Load(),
		HandedBack: q.counts.handedBack.Load(),
	}
}

// String returns the numbers in one line.
func (c Counts) String() string {
	return fmt.Sprintf("put %d (and %d duplicates), attempts %d, done %d, retried %d, died %d, handed back %d",
		c.Put, c.Duplicates, c.Attempts, c.Done, c.Retried, c.Died, c.HandedBack)
}

type counts struct {
	put, duplicates, attempts, done, retried, died, handedBack atomic.Int64
}
