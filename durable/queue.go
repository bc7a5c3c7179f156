package durable

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Queue is a durable queue of jobs. It is safe for concurrent use. Any number of Queues with the same name, in any
// number of processes, are the same queue.
type Queue struct {
	config Config
	nc     *nats.Conn
	js     jetstream.JetStream
	jobs   jetstream.Stream
	again  jetstream.Consumer
	first  jetstream.Consumer

	ctx     context.Context // ends when the queue is closed
	cancel  context.CancelCauseFunc
	leases  leases
	gaps    gaps
	acks    acks
	turns   turns
	bound   bound
	kinds   sync.Map // from string to kind
	strange sync.Map // kinds without a handler, from string to the time.Time at which that was logged
	mu      sync.Mutex
	feeds   map[*feed]struct{}
	closed  bool // Close has been called
	close   func() error
	tasks   sync.WaitGroup
	counts  counts

	leaseTime    atomic.Int64
	skew         atomic.Int64 // the server's time less this machine's
	mayNotDelete atomic.Bool  // the user lacks the permission to delete messages
}

// Open opens the queue on a connection, and creates its stream and consumers if they do not exist. The connection
// belongs to the caller, who chooses its address, TLS, credentials and handlers in nats.Connect, and who must keep it
// open for as long as the queue is open. With nats.MaxReconnects(-1) it survives any outage. The server must have
// version 2.12.15 or later.
//
// ctx bounds Open, not the queue. If ctx has no deadline, Open gives up after 15 s. Errors match ErrUnreachable,
// ErrRefused, ErrOtherConfig, ErrFull or ErrClosed, and their texts include what to do. Open panics when nc is nil.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Queue, error) {
	if nc == nil {
		panic("durable: Open: nc is nil")
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	q := &Queue{config: c, nc: nc, feeds: make(map[*feed]struct{})}
	q.close = sync.OnceValue(q.shutDown)
	q.turns.init()
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
		ctx, cancel = context.WithTimeout(ctx, 15*time.Second)
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
		return &failure{"open", ErrRefused, errors.New("the server has version " + version), "update it to 2.12.15 or later"}
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
	for _, s := range []stage{again, first} {
		if err := q.sweep(ctx, s); err != nil {
			c := &q.config
			c.Logger.Warn("jobs that were acknowledged while the disk was full could not be removed", "queue", c.Name, "error", err)
		}
	}
	return nil
}

// sweep removes the messages that were acknowledged and still exist. A server whose disk is full cannot remove them,
// and does not do so later when there is room again.
func (q *Queue) sweep(ctx context.Context, s stage) error {
	info := q.consumer(s).CachedInfo()
	for from := uint64(1); ; {
		m, err := q.jobs.GetMsg(ctx, from, jetstream.WithGetMsgSubject(q.config.subjects("*", string(s))))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return err
		case m.Sequence > info.AckFloor.Stream:
			return nil
		}
		if err := q.remove(ctx, m.Sequence); err != nil {
			return err
		}
		from = m.Sequence + 1
	}
}

// remove deletes a message.
func (q *Queue) remove(ctx context.Context, seq uint64) error {
	err := q.ask(ctx, "STREAM.MSG.DELETE."+q.config.streamName(), func(ctx context.Context) error { return q.jobs.DeleteMsg(ctx, seq) })
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil // it is gone
	}
	return err
}

// ask makes a request that many users may not make. The server reports that outside of the response, which then never
// comes. ask looks for such a report after a moment, then less and less often, and returns it.
func (q *Queue) ask(ctx context.Context, subject string, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	before, done := q.nc.LastError(), make(chan error, 1)
	go func() { done <- request(ctx) }()
	for wait := askWait; ; wait *= 2 {
		select {
		case err := <-done:
			return err
		case <-time.After(wait):
		}
		// The server reads a connection's requests in order, so the report on what was sent has come when it has
		// responded to a flush.
		if !q.nc.IsConnected() || q.nc.FlushWithContext(ctx) != nil {
			continue
		}
		if denied := q.denied(before); denied != nil && strings.Contains(denied.Error(), subject) {
			cancel()
			<-done
			return denied
		}
	}
}

// askWait is how long a response may take before ask looks for a report for the first time.
const askWait = 20 * time.Millisecond

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

// isOld reports whether a server of that version is older than 2.12.15. Before 2.12 it lacks message schedules or TTLs,
// and with 2.12.0, 2.12.1 and 2.12.4 jobs were not delivered again within two minutes after the server was killed. The
// versions between 2.12.4 and 2.12.15 were not tried.
func isOld(version string) bool {
	version, _, _ = strings.Cut(version, "-") // of a preview
	var numbers [3]int
	parts := strings.Split(version, ".")
	for i, part := range parts[:min(3, len(parts))] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		numbers[i] = n
	}
	return len(parts) > 1 && slices.Compare(numbers[:], []int{2, 12, 15}) < 0
}

// Close hands back the jobs that no handler has, ends the contexts of running handlers after Config.Grace, and waits
// for Work to return, see there. An error that matches ErrStillRunning says that a consumer of Jobs has not returned in a
// similar time. Streams of Jobs end with ErrClosed, and their jobs that are not settled yet are handed back. The
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
	for _, d := range q.leases.before(time.Now()) {
		q.handBack(ctx, d, 0)
	}
	cancel()
	q.cancel(ErrClosed)
	q.tasks.Wait()
	if err := q.flush(); err != nil {
		return errors.Join(stuck, explain("close: acknowledgements and jobs that were handed back may not have reached the server", err))
	}
	return stuck
}

// flushTime is how long flush waits.
const flushTime = 3 * time.Second

// flush waits until the server has received what was sent.
func (q *Queue) flush() error {
	if !q.nc.IsConnected() {
		return nats.ErrDisconnected
	}
	return q.nc.FlushTimeout(flushTime)
}

// Delete removes the queue with all its jobs and dead letters from the server, and closes it.
func (q *Queue) Delete(ctx context.Context) error {
	var failed error
	err := q.ask(ctx, "STREAM.DELETE."+q.config.streamName(), func(ctx context.Context) error {
		return q.js.DeleteStream(ctx, q.config.streamName())
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		failed = explain("delete: stream "+q.config.streamName(), err)
	}
	return errors.Join(failed, q.Close())
}

// join registers a feed, which Close then ends.
func (q *Queue) join(f *feed) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.feeds[f] = struct{}{}
	return nil
}

// leave is called when nothing of the feed is running. A consumer of Jobs may still report jobs later.
func (q *Queue) leave(f *feed) {
	q.mu.Lock()
	delete(q.feeds, f)
	q.mu.Unlock()
	close(f.ended)
}

// consumer returns the consumer of the jobs of the stage.
func (q *Queue) consumer(s stage) jetstream.Consumer {
	if s == again {
		return q.again
	}
	return q.first
}

func (q *Queue) isClosed() bool { return errors.Is(context.Cause(q.ctx), ErrClosed) }
