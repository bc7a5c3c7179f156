package durable

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// delivery is a job that the server has given to this process, until it is settled or handed back. It belongs to one
// attempt after another.
type delivery struct {
	msg        jetstream.Msg
	seq        uint64
	deliveries uint64 // how often the server has given it to anybody
	again      bool   // it came by the job's own subject
	state      state
	feed       *feed
	received   time.Time

	previous, next *delivery // in the leases; nil when settled
}

// leases are the deliveries that this process has, as a list in a ring.
type leases struct {
	mu   sync.Mutex
	ring delivery // next is the first, previous the last; the ring itself when there are none
}

func (l *leases) add(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ring.next == nil {
		l.ring.next, l.ring.previous = &l.ring, &l.ring
	}
	d.previous, d.next = l.ring.previous, &l.ring
	d.previous.next, d.next.previous = d, d
}

// remove reports whether d was there: who removes it may acknowledge it.
func (l *leases) remove(d *delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.next == nil {
		return false
	}
	d.previous.next, d.next.previous = d.next, d.previous
	d.previous, d.next = nil, nil
	return true
}

// before returns those that were received before the given time.
func (l *leases) before(t time.Time) (all []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := l.ring.next; d != nil && d != &l.ring; d = d.next {
		if d.received.Before(t) {
			all = append(all, d)
		}
	}
	return all
}

// keepLeases tells the server four times a lease, and when a connection is back, that the jobs here are being worked on,
// until the queue is closed.
func (q *Queue) keepLeases() {
	ticker := time.NewTicker(q.config.Lease / 4)
	defer ticker.Stop()
	connected := q.nc.StatusChanged(nats.CONNECTED)
	defer q.nc.RemoveStatusListener(connected)
	status := (<-chan nats.Status)(connected)
	for {
		select {
		case <-q.ctx.Done():
			return
		case now := <-ticker.C:
			q.giveIdleAway(now)
			q.sendReplies()
			q.extendLeases(now.Add(-q.config.Lease / 4))
		case _, open := <-status:
			if !open { // the connection is closed
				status = nil
				continue
			}
			q.sendReplies()
			q.extendLeases(time.Now())
		}
	}
}

// extendLeases extends the leases of what was received before the given time. Without a connection it is done when there
// is one again.
func (q *Queue) extendLeases(before time.Time) {
	failed, last := 0, error(nil)
	for _, d := range q.leases.before(before) {
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
	}
}

// giveIdleAway has the feeds give away what was fetched ahead and has waited here for long, so that other processes can
// have it.
func (q *Queue) giveIdleAway(now time.Time) {
	before := now.Add(-q.config.Lease / 3)
	q.mu.Lock()
	defer q.mu.Unlock()
	for f := range q.feeds {
		if f.hasIdle(before) {
			q.tasks.Go(func() { f.giveIdleAway(before) }) // the leases cannot wait for it
		}
	}
}

// handBack gives the job to the next worker that asks, after the pause.
func (q *Queue) handBack(d *delivery, pause time.Duration) {
	if !q.leases.remove(d) {
		return
	}
	q.counts.handedBack.Add(1)
	nak := d.msg.Nak
	if pause > 0 {
		nak = func() error { return d.msg.NakWithDelay(pause) }
	}
	if err := q.reply(nak); err != nil {
		q.config.Logger.Warn("a job could not be handed back, its lease must run out", "queue", q.config.Name, "id", d.state.id, "error", err)
	}
}
