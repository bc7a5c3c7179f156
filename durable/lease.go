package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// delivery is a job that the server has delivered to this process, until it is settled or handed back. Several attempts
// may use it, one after another.
type delivery struct {
	id         string
	stage      stage // of the message
	msg        jetstream.Msg
	seq        uint64    // of the message
	deliveries uint64    // how often the server has delivered it, to any worker
	put        time.Time // when the message was stored
	state      state
	feed       *feed
	received   time.Time

	last    uint64    // the sequence of the job's last message, from which the next step starts
	looked  bool      // the job's mark was read or written
	marked  time.Time // when the mark that was read was stored, zero if none
	begun   uint64    // attempts begun and never settled, by its mark
	claimed bool      // begun includes the running attempt
	moved   bool      // the position has moved since it was stored
	over    bool      // the message says that the job was cancelled
	held    bool      // it was attempted here, and waits here

	// Guarded by the mutex of leases:
	until time.Time // the end of the lease, as far as is known
	busy  bool      // its attempt runs, or it is held
}

// leases holds the deliveries that this process has, by the sequences of their messages.
type leases struct {
	mu  sync.Mutex
	all map[uint64]*delivery
}

// add adds a delivery. It returns false if an attempt at the same message still runs in this process. That attempt then
// continues with the lease of the new delivery.
func (l *leases) add(d *delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[uint64]*delivery)
	}
	if old := l.all[d.seq]; old != nil && old.busy {
		old.until = d.until
		return false
	}
	l.all[d.seq] = d
	return true
}

// remove removes d and reports whether it was there. Only the caller that has removed it may acknowledge it.
func (l *leases) remove(d *delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[d.seq] != d {
		return false
	}
	delete(l.all, d.seq)
	return true
}

// before returns the deliveries that were received before t.
func (l *leases) before(t time.Time) (all []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.all {
		if d.received.Before(t) {
			all = append(all, d)
		}
	}
	return all
}

// extend extends the leases of the given deliveries to until. heard is when the server had certainly received the
// extension. A lease that may have run out before is not extended.
func (l *leases) extend(all []*delivery, heard, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		if heard.Before(d.until) {
			d.until = until
		}
	}
}

// begin marks a delivery as busy if its lease has certainly not run out, and reports whether that is so.
func (l *leases) begin(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.busy = now.Before(d.until) && l.all[d.seq] == d
	return d.busy
}

// alive reports whether the delivery's lease has certainly not run out.
func (l *leases) alive(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(d.until)
}

// gaps detects times of more than half a lease in which the process did not run, because it or its machine was
// stopped, or in which the server did not respond, and new connections: a server that was killed may have forgotten
// deliveries and extensions. The deliveries that the process had then, or that were in its socket, are suspect: the
// server may have delivered the jobs to other workers.
type gaps struct {
	mu         sync.Mutex
	ran        time.Time // when the process last ran
	heard      time.Time // when the server last responded
	reconnects uint64    // of the connection
	suspect    time.Time // deliveries received before are suspect
}

// tick is called often, to detect gaps of the process.
func (g *gaps) tick(now time.Time, lease time.Duration) { g.update(&g.ran, now, lease) }

// responded is called when the server has responded.
func (g *gaps) responded(now time.Time, lease time.Duration) { g.update(&g.heard, now, lease) }

func (g *gaps) update(last *time.Time, now time.Time, lease time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !last.IsZero() && now.Sub(*last) > lease/2 {
		g.found(now, lease)
	}
	if now.After(*last) {
		*last = now
	}
}

// found is called after a gap. What is in the socket is suspect too.
func (g *gaps) found(now time.Time, lease time.Duration) {
	g.suspect = now.Add(min(lease/4, time.Second))
}

// connected is called with the number of the connection's reconnects.
func (g *gaps) connected(reconnects uint64, now time.Time, lease time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if reconnects != g.reconnects {
		g.reconnects = reconnects
		g.found(now, lease)
	}
}

func (q *Queue) isSuspect(d *delivery, now time.Time) bool {
	q.gaps.connected(q.nc.Stats().Reconnects, now, q.lease())
	return q.gaps.isSuspect(d, now, q.lease())
}

func (g *gaps) isSuspect(d *delivery, now time.Time, lease time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.received.Before(g.suspect) || now.Sub(g.heard) > lease/2
}

// keepLeases extends the leases of the jobs in this process until the queue is closed: four times per lease, and when
// the connection is back after an outage.
func (q *Queue) keepLeases() {
	ticker := time.NewTicker(time.Second / 8) // an eighth of the shortest lease
	defer ticker.Stop()
	connected := q.nc.StatusChanged(nats.CONNECTED)
	defer q.nc.RemoveStatusListener(connected)
	status := (<-chan nats.Status)(connected)
	extended, extending := time.Now(), make(chan struct{}, 1)
	extend := func(now time.Time) {
		select {
		case extending <- struct{}{}:
			extended = now
			q.tasks.Go(func() { q.readLease(); q.extendLeases(); <-extending })
		default: // the last extension has not ended, because the server does not respond
		}
	}
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			q.gaps.tick(now, q.lease())
			q.handBackIdle(now)
			if now.Sub(extended) >= q.lease()/4 {
				extend(now)
			}
		case _, open := <-status:
			if !open { // the connection is closed
				status = nil
				continue
			}
			extend(time.Now())
		}
	}
}

// extendLeases extends the leases. They are known to be extended when the server has responded to a flush after that.
func (q *Queue) extendLeases() {
	now := time.Now()
	all := q.leases.before(now)
	failed, last := 0, error(nil)
	for _, d := range all {
		err := d.msg.InProgress()
		switch {
		case errors.Is(err, nats.ErrReconnectBufExceeded):
			return
		case err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd):
			failed, last = failed+1, err
		}
	}
	if failed > 0 {
		q.config.Logger.Warn("leases could not be extended", "queue", q.config.Name, "jobs", failed, "error", last)
		return
	}
	if q.nc.IsConnected() && q.nc.FlushTimeout(q.lease()/4) == nil {
		heard := time.Now()
		q.gaps.responded(heard, q.lease())
		q.leases.extend(all, heard, now.Add(q.lease()))
	}
}

// handBackIdle makes the feeds hand back the jobs that were fetched ahead and wait here, so that other processes can
// get them.
func (q *Queue) handBackIdle(now time.Time) {
	before := now.Add(-idleTime)
	q.mu.Lock()
	defer q.mu.Unlock()
	for f := range q.feeds {
		if f.hasIdle(before) {
			q.tasks.Go(func() { f.handBackIdle(before) }) // the leases must be extended meanwhile
		}
	}
}

// handBack returns the job to the server, which delivers it to another worker after the pause. The attempt is not
// counted.
func (q *Queue) handBack(ctx context.Context, d *delivery, pause time.Duration) {
	if !q.leases.remove(d) {
		return
	}
	q.counts.handedBack.Add(1)
	if d.claimed || d.moved {
		if err := q.unclaim(ctx, d); err != nil {
			q.config.Logger.Warn("an attempt that was handed back will count as one that never ended", "queue", q.config.Name, "id", d.id, "error", err)
		}
	}
	nak := d.msg.Nak
	if pause > 0 {
		nak = func() error { return d.msg.NakWithDelay(pause) }
	}
	if err := nak(); err != nil {
		q.config.Logger.Warn("a job could not be handed back, it is delivered again when its lease has run out", "queue", q.config.Name, "id", d.id, "error", err)
	}
}

// abandon removes a delivery and sends nothing to the server. Another worker has the job, and the server would take an
// acknowledgement of this delivery for that worker's.
func (q *Queue) abandon(d *delivery) { q.leases.remove(d) }

// drop acknowledges the delivery of a job that has moved on. If the acknowledgement is lost, the server delivers the
// job once more, and check skips it. done says that the job is done: then its old dead letter goes first.
func (q *Queue) drop(ctx context.Context, d *delivery, done bool) {
	if done && d.state.revived {
		if err := q.bury(ctx, d); err != nil {
			q.config.Logger.Warn("the dead letter of a revived job could not be removed, the job is handed back for that", "queue", q.config.Name, "id", d.id, "error", err)
			d.claimed = false
			q.handBack(ctx, d, q.pause(ctx, time.Time{}))
			return
		}
	}
	if !q.leases.remove(d) {
		return
	}
	if err := q.acks.send(ctx, d.msg); err != nil {
		q.config.Logger.Warn("a delivery could not be acknowledged", "queue", q.config.Name, "id", d.id, "error", err)
	}
}
