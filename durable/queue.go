package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Queue is a durable queue of jobs. It is safe for concurrent use; any number of Queues of one name, in any number of
// processes, are the same queue.
type Queue struct {
	config    Config
	nc        *nats.Conn
	owned     bool // the connection
	js        jetstream.JetStream
	jobs      jetstream.Stream
	dead      jetstream.Stream
	consumer  jetstream.Consumer
	schedules bool

	ctx     context.Context // ends with the queue
	cancel  context.CancelCauseFunc
	leases  leases
	replies replies
	mu      sync.Mutex
	feeds   map[*feed]struct{}
	closed  bool // Close has been called
	close   func() error
	tasks   sync.WaitGroup
	counts  counts
}

// counts are what this Queue has done.
type counts struct {
	put, attempts, done, retried, died, handedBack, duplicates atomic.Int64
}

// Open opens the queue and makes its streams if they are not there. ctx bounds the opening, not the queue; a ctx without
// a deadline gives it 15 s. Errors match
// ErrUnreachable, ErrRefused, ErrOtherConfig or ErrFull, and say what to do.
func Open(ctx context.Context, c Config) (*Queue, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	nc, owned, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	q := &Queue{config: c, nc: nc, owned: owned, feeds: make(map[*feed]struct{})}
	q.close = sync.OnceValue(q.shutDown)
	before := nc.LastError()
	if err := q.open(ctx); err != nil {
		if denied := q.denied(before); denied != nil && errors.Is(err, ErrUnreachable) {
			err = explain("open", denied)
		}
		if owned {
			nc.Close()
		}
		return nil, err
	}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
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
	schedules := !q.config.NoSchedules && canSchedule(version)
	if !schedules && !q.config.NoSchedules {
		q.config.Logger.Warn("the server has no message schedules: waits are kept by delayed negative acknowledgements, "+
			"which are slow; update it to 2.12 or later", "queue", q.config.Name, "server", version)
	}
	if q.jobs, err = ensureStream(ctx, q.js, q.config.jobsStream(schedules), q.config.Update); err != nil {
		return err
	}
	q.schedules = schedules
	if q.dead, err = ensureStream(ctx, q.js, q.config.deadStream(), q.config.Update); err != nil {
		return err
	}
	q.consumer, err = ensureConsumer(ctx, q.jobs, q.config.consumer(), q.config.Update)
	return err
}

// Close hands back the jobs that no handler runs, ends the contexts of the others, waits for Work to return, and closes
// the connection if Open made it. A stream that Jobs returned ends with ErrClosed, and jobs it has delivered that are
// not settled are handed back. Handlers, and who consumes Jobs, must not call it: it waits for them. Close may be called
// again, and then waits too.
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
	for _, c := range ended {
		<-c
	}
	q.cancel(ErrClosed)
	q.tasks.Wait()
	for _, d := range q.leases.before(time.Now()) {
		q.handBack(d, 0)
	}
	err := q.flush()
	if q.owned {
		q.nc.Close()
	}
	if err != nil {
		return explain("close: jobs handed back and acknowledgements may not have reached the server", err)
	}
	return nil
}

// flush waits until the server has what was sent.
func (q *Queue) flush() error {
	if !q.nc.IsConnected() {
		return nats.ErrDisconnected
	}
	q.sendReplies()
	return q.nc.FlushTimeout(5 * time.Second)
}

// Delete removes the queue from the server with all its jobs and dead letters, and closes it.
func (q *Queue) Delete(ctx context.Context) error {
	var failed error
	for _, name := range []string{q.config.jobsName(), q.config.deadName()} {
		if err := q.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			failed = errors.Join(failed, explain("delete: stream "+name, err))
		}
	}
	return errors.Join(failed, q.Close())
}

// join has the feed ended by Close.
func (q *Queue) join(f *feed) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.feeds[f] = struct{}{}
	return nil
}

func (q *Queue) leave(f *feed) {
	q.mu.Lock()
	delete(q.feeds, f)
	q.mu.Unlock()
	f.end()
}

// Subjects.

func (q *Queue) subjectFirst() string { return "retrywhen." + q.config.Name + ".run.first" }
func (q *Queue) subjectAgain(id string) string {
	return "retrywhen." + q.config.Name + ".run.again." + token(id)
}
func (q *Queue) subjectLater(id string) string {
	return "retrywhen." + q.config.Name + ".later." + token(id)
}
func (q *Queue) subjectDead(id string) string {
	return "retrywhen." + q.config.Name + ".dead." + token(id)
}

// Stats is how a queue stands. The first four are the whole queue's, by the server; the others are what this Queue has
// done since Open.
type Stats struct {
	Ready   int // jobs that wait for a worker
	Running int // jobs that workers have: attempts that run, short waits, and what was fetched ahead
	Later   int // jobs whose time has not come: retries and PutAt
	Dead    int // dead letters

	Put        int64 // jobs put, or revived
	Duplicates int64 // of these, jobs whose id was there already
	Attempts   int64 // attempts begun
	Done       int64 // jobs done
	Retried    int64 // retries scheduled
	Died       int64 // jobs given up
	HandedBack int64 // jobs handed back unattempted, or with their attempt cut off
}

// Stats asks the server. The numbers of jobs are taken one after another, so that jobs that move meanwhile may be
// counted twice or not at all; and a job that was put counts as Later until the server has got it ready for the workers,
// which can be a moment after Put has returned.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	jobs, err := q.jobs.Info(ctx)
	if err != nil {
		return Stats{}, explain("stats", err)
	}
	consumer, err := q.consumer.Info(ctx)
	if err != nil {
		return Stats{}, explain("stats", err)
	}
	dead, err := q.dead.Info(ctx)
	if err != nil {
		return Stats{}, explain("stats", err)
	}
	s := Stats{
		Ready:      int(consumer.NumPending),
		Running:    consumer.NumAckPending,
		Dead:       int(dead.State.Msgs),
		Put:        q.counts.put.Load(),
		Duplicates: q.counts.duplicates.Load(),
		Attempts:   q.counts.attempts.Load(),
		Done:       q.counts.done.Load(),
		Retried:    q.counts.retried.Load(),
		Died:       q.counts.died.Load(),
		HandedBack: q.counts.handedBack.Load(),
	}
	s.Later = max(int(jobs.State.Msgs)-s.Ready-s.Running, 0)
	return s, nil
}

// String returns the numbers in one line.
func (s Stats) String() string {
	return fmt.Sprintf("ready %d, running %d, later %d, dead %d; here: put %d (%d duplicates), attempts %d, done %d, retried %d, died %d, handed back %d",
		s.Ready, s.Running, s.Later, s.Dead, s.Put, s.Duplicates, s.Attempts, s.Done, s.Retried, s.Died, s.HandedBack)
}

func (q *Queue) isClosed() bool { return errors.Is(context.Cause(q.ctx), ErrClosed) }
