package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// delivery is a job that the server has given to this process, until it is settled or handed back. It belongs to one
// attempt after another.
type delivery struct {
	id         string
	stage      stage // of the message
	msg        jetstream.Msg
	seq        uint64    // of the message
	deliveries uint64    // how often the server has given it to anybody
	put        time.Time // when the message was stored
	state      state
	feed       *feed
	received   time.Time

	last    uint64 // the sequence of the job's last message: what the next step goes on from
	looked  bool   // the job's mark was read, or written
	begun   uint64 // attempts begun and never settled, by its mark
	claimed bool   // the attempt that is being made counts among these
	held    bool   // it was attempted here, and waits here

	// Under the leases' mutex:
	until time.Time // the lease's end, as far as is known
	busy  bool      // its attempt is being made, or it is held
}

// leases are the deliveries that this process has, by the sequences of their messages.
type leases struct {
	mu  sync.Mutex
	all map[uint64]*delivery
}

// add takes a delivery in. It reports false if this process is still at work on the message: then that goes on, under
// the lease of the new delivery.
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

// remove reports whether d was there: who removes it may acknowledge it.
func (l *leases) remove(d *delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[d.seq] != d {
		return false
	}
	delete(l.all, d.seq)
	return true
}

// before returns those that were received before the given time.
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

// extend says that the leases last until the given time. One that may have run out before the server heard of it is
// over.
func (l *leases) extend(all []*delivery, heard, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		if heard.Before(d.until) {
			d.until = until
		}
	}
}

// begin has a delivery be at work, and reports whether its lease is known to last at the time.
func (l *leases) begin(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.busy = now.Before(d.until) && l.all[d.seq] == d
	return d.busy
}

// alive reports whether the delivery's lease is known to last at the time.
func (l *leases) alive(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(d.until)
}

// pulse notices when the process has stood still, stopped by a signal or with its machine, and when the server was out
// of reach. What the process has in hand then, and what lay in its socket, may be another's.
type pulse struct {
	mu      sync.Mutex
	ticked  time.Time // the process ran
	heard   time.Time // the server answered
	suspect time.Time // what was received before is suspect
}

// tick is called often. A gap of half a lease makes all suspect that was received until a moment later.
func (p *pulse) tick(now time.Time, lease time.Duration) { p.beat(&p.ticked, now, lease) }

// answer is called when the server has answered. A gap is one as above.
func (p *pulse) answer(now time.Time, lease time.Duration) { p.beat(&p.heard, now, lease) }

func (p *pulse) beat(last *time.Time, now time.Time, lease time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !last.IsZero() && now.Sub(*last) > lease/2 {
		p.suspect = now.Add(min(lease/4, time.Second))
	}
	if now.After(*last) {
		*last = now
	}
}

func (p *pulse) isSuspect(d *delivery, now time.Time, lease time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return d.received.Before(p.suspect) || now.Sub(p.heard) > lease/2
}

// keepLeases tells the server four times a lease, and when a connection is back, that the jobs here are being worked
// on, until the queue is closed.
func (q *Queue) keepLeases() {
	lease := q.config.Lease
	ticker := time.NewTicker(min(lease/8, 250*time.Millisecond))
	defer ticker.Stop()
	connected := q.nc.StatusChanged(nats.CONNECTED)
	defer q.nc.RemoveStatusListener(connected)
	status := (<-chan nats.Status)(connected)
	extended, extending := time.Now(), make(chan struct{}, 1)
	extend := func(now time.Time) {
		select {
		case extending <- struct{}{}:
			extended = now
			q.tasks.Go(func() { q.extendLeases(); <-extending })
		default: // the last time has not ended: the server does not answer
		}
	}
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			q.pulse.tick(now, lease)
			q.giveIdleAway(now)
			if now.Sub(extended) >= lease/4 {
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

// extendLeases extends the leases, and knows that they are when the server has answered what was sent after that.
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
	if q.nc.IsConnected() && q.nc.FlushTimeout(q.config.Lease/4) == nil {
		heard := time.Now()
		q.pulse.answer(heard, q.config.Lease)
		q.leases.extend(all, heard, now.Add(q.config.Lease))
	}
}

// giveIdleAway has the feeds give away what was fetched ahead and waits here, so that other processes can have it.
func (q *Queue) giveIdleAway(now time.Time) {
	before := now.Add(-idleTime)
	q.mu.Lock()
	defer q.mu.Unlock()
	for f := range q.feeds {
		if f.hasIdle(before) {
			q.tasks.Go(func() { f.giveIdleAway(before) }) // the leases cannot wait for it
		}
	}
}

// handBack gives the job to the next worker that asks, after the pause, with its attempt uncounted.
func (q *Queue) handBack(ctx context.Context, d *delivery, pause time.Duration) {
	if !q.leases.remove(d) {
		return
	}
	q.counts.handedBack.Add(1)
	if d.claimed {
		if err := q.unclaim(ctx, d); err != nil {
			q.config.Logger.Warn("an attempt that was handed back counts as one that never ended", "queue", q.config.Name, "id", d.id, "error", err)
		}
	}
	nak := d.msg.Nak
	if pause > 0 {
		nak = func() error { return d.msg.NakWithDelay(pause) }
	}
	if err := nak(); err != nil {
		q.config.Logger.Warn("a job could not be handed back, its lease must run out", "queue", q.config.Name, "id", d.id, "error", err)
	}
}

// abandon lets go of a delivery without a word: another worker has the job, and what is said of it here would be taken
// for that worker's.
func (q *Queue) abandon(d *delivery) { q.leases.remove(d) }

// drop acknowledges the delivery of a job that has moved on. If the server does not hear of it, it gives the job out
// once more, for nothing.
func (q *Queue) drop(ctx context.Context, d *delivery) {
	if !q.leases.remove(d) {
		return
	}
	if err := q.acks.send(ctx, d.msg); err != nil {
		q.config.Logger.Warn("a delivery could not be acknowledged", "queue", q.config.Name, "id", d.id, "error", err)
	}
}
