package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Open opens the queue on a connection, and creates its stream and consumers if they do not exist. The connection
// belongs to the caller, who chooses its address, TLS, credentials and handlers in nats.Connect, and who must keep it
// open for as long as the queue is open. With nats.MaxReconnects(-1) it survives any outage. The server must have
// version 2.15.0 or later.
//
// ctx bounds Open, not the queue. If ctx has no deadline, Open gives up after 15 s. Errors match ErrUnreachable,
// ErrRefused, ErrOtherConfig, ErrFull, ErrGone or ErrClosed, unless a field of c is invalid, and their texts include what
// to do.
// Open panics when nc is nil.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Queue, error) {
	if nc == nil {
		panic("durable: Open: nc is nil")
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	q := newQueue(c, nc)
	before := nc.LastError()
	if err := q.open(ctx); err != nil {
		if denied := q.denied(before); denied != nil && errors.Is(err, ErrUnreachable) {
			err = explain("open", denied)
		}
		return nil, err
	}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
	q.leaseTime.Store(int64(q.config.Lease))
	q.gaps.tick(time.Now(), q.lease())
	q.gaps.responded(time.Now(), q.lease())
	q.gaps.reconnects = nc.Stats().Reconnects
	q.readLease()
	q.tasks.Go(q.keepLeases)
	return q, nil
}

func (q *Queue) open(ctx context.Context) (err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, trial) // no consumer that it makes ends earlier
		defer cancel()
	}
	if q.js, err = jetstream.New(q.nc); err != nil {
		return explain("open", err)
	}
	version, err := serverVersion(ctx, q.nc)
	if err != nil {
		return explain("open", err)
	}
	if isOld(version) {
		return &failure{"open", ErrRefused, errors.New("the server has version " + version), fmt.Sprintf("update it to %d.%d.%d or later", oldest[0], oldest[1], oldest[2])}
	}
	if q.jobs, err = q.ensureStream(ctx); err != nil {
		return err
	}
	if q.again, err = q.ensureConsumer(ctx, again); err != nil {
		return err
	}
	if q.first, err = q.ensureConsumer(ctx, first); err != nil {
		return err
	}
	for _, s := range []stage{later, dead} {
		switch _, err := q.ensureCounter(ctx, s); {
		case errors.Is(err, nats.ErrPermissionViolation): // a user who only puts jobs needs no counts
			q.config.Logger.Warn("jobs cannot be counted, so Stats fails and MaxDead bounds nothing", "error", err)
		case err != nil:
			return explain("open: consumer "+q.config.counter(s).Durable, err)
		}
	}
	for _, s := range []stage{again, first} {
		if err := q.sweep(ctx, s); err != nil {
			q.config.Logger.Warn("jobs that were acknowledged while the disk was full could not be removed", "error", err)
		}
	}
	return nil
}

// sweep removes the messages that were acknowledged and still exist. A server whose disk is full cannot remove them,
// and does not do so later when there is room again.
func (b *backend) sweep(ctx context.Context, s stage) error {
	info := b.consumer(s).CachedInfo()
	for from := uint64(1); ; {
		m, err := b.next(ctx, b.config.subjects("*", string(s)), from)
		if err != nil || m == nil || m.Sequence > info.AckFloor.Stream {
			return err
		}
		if err := b.remove(ctx, m.Sequence); err != nil {
			return err
		}
		from = m.Sequence + 1
	}
}

// serverVersion returns the version of the server. While there is no connection, it waits for one.
func serverVersion(ctx context.Context, nc *nats.Conn) (string, error) {
	for {
		if version := nc.ConnectedServerVersion(); version != "" {
			return version, nil
		}
		if err := nc.LastError(); isAuthorization(err) {
			return "", err
		}
		if nc.IsClosed() {
			return "", nats.ErrConnectionClosed
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(nats.ErrDisconnected, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// oldest is the oldest version of the server with which a queue works. Before 2.12 it lacks message schedules or TTLs.
// Up to 2.12.5, a server that was killed keeps deliveries pending whose messages are gone: Stats counts them as running
// for as long as the consumer exists (TestFactAPendingDeliveryEndsWithItsMessage). Before 2.15.0 a server fires
// schedules while it still starts. TestAttack_TheLedgerBalances, run at night on a busy machine, then loses some
// waiting jobs (with 2.12.7, in 3 of 13 runs), or no waiting job becomes due until the next start (2.12.7 and 2.12.12,
// in 2 of 23).
var oldest = [3]int{2, 15, 0}

// isOld reports whether a server of that version is older than oldest. An unknown version is not.
func isOld(version string) bool {
	var v [3]int
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	return n > 1 && slices.Compare(v[:], oldest[:]) < 0
}

// Close hands back the jobs that no handler has, ends the contexts of running handlers after Config.Grace, and waits
// for Work to return, see there. An error that matches ErrStillRunning says that a consumer of Jobs has not returned in
// a similar time. Streams of Jobs end with ErrClosed, and their jobs that are not settled yet are handed back. The
// connection stays open. Handlers and consumers of Jobs must not call Close, because it waits for them. Close may be
// called again, and then waits too.
func (q *Queue) Close() error { return q.close() }

func (q *Queue) shutDown() error {
	q.mu.Lock()
	q.closed = true
	var ended []<-chan struct{}
	for f := range q.feeds {
		f.close(ErrClosed)
		ended = append(ended, f.ended)
	}
	q.mu.Unlock()
	var stuck error
	for i, timeout := 0, time.After(q.config.Grace+patience+2*settleTime); i < len(ended) && stuck == nil; i++ {
		select {
		case <-ended[i]:
		case <-timeout: // Work returns earlier: this is a consumer of Jobs
			stuck = &failure{"close", ErrStillRunning, nil, "the consumer of a stream of Jobs must return"}
		}
	}
	ctx, cancel := context.WithTimeout(q.ctx, settleTime)
	for _, d := range q.leases.find(func(*delivery) bool { return true }) {
		q.handBack(ctx, d, 0)
	}
	cancel()
	q.cancel(ErrClosed)
	if q.cancels != nil {
		q.cancels.Unsubscribe()
	}
	q.tasks.Wait()
	if err := q.flush(); err != nil {
		return errors.Join(stuck, explain("close: acknowledgements and jobs that were handed back may not have reached the server", err))
	}
	return stuck
}

// Delete removes the queue with all its jobs and dead letters from the server, and closes it. No process should open
// the queue at the same moment: a server of version 2.15.2 may then stand still, because the old stream and the new one
// write to one file.
func (q *Queue) Delete(ctx context.Context) error {
	err := q.ask(ctx, "STREAM.DELETE."+q.config.streamName(), func(ctx context.Context) error {
		return q.js.DeleteStream(ctx, q.config.streamName())
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.Join(explain("delete: stream "+q.config.streamName(), err), q.Close())
	}
	return q.Close()
}
