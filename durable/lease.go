package durable

import (
	"context"
	"sync"
	"time"

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
	ready      time.Time // the end of its wait, if it is held

	last      uint64 // the sequence of the job's last message, from which the next step starts
	looked    bool   // the job's mark was read or written
	begun     uint64 // attempts begun and never settled, by its mark
	claimed   bool   // begun includes the running attempt
	moved     bool   // the position has moved since it was stored
	cancelled bool   // the message says that the job was cancelled
	held      bool   // it was attempted here, and waits here

	// Guarded by the mutex of leases:
	until     time.Time               // the end of the lease, as far as is known
	busy      bool                    // its attempt runs, or it is held
	stop      context.CancelCauseFunc // ends the context of its attempt in a handler
	withdrawn bool                    // its job was cancelled
}

// idle reports whether the delivery has been ready since before the given time.
func (d *delivery) idle(before time.Time) bool {
	if d.held {
		return d.ready.Before(before)
	}
	return d.received.Before(before)
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
	if old := l.all[d.seq]; old != nil && old.busy && old.put.Equal(d.put) {
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

// find returns the deliveries for which is returns true.
func (l *leases) find(is func(*delivery) bool) (all []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.all {
		if is(d) {
			all = append(all, d)
		}
	}
	return all
}

// withdraw makes begin refuse d. If a handler has it, the handler's context ends.
func (l *leases) withdraw(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.withdrawn = true
	if d.stop != nil {
		d.stop(ErrCancelled)
	}
}

// handle notes that a handler gets d with a context that stop ends. It returns false if d was withdrawn.
func (l *leases) handle(d *delivery, stop context.CancelCauseFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.stop = stop
	return !d.withdrawn
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

// begin marks a delivery as busy if its lease has certainly not run out and it was not withdrawn, and reports whether
// that is so.
func (l *leases) begin(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.busy = now.Before(d.until) && l.all[d.seq] == d && !d.withdrawn
	return d.busy
}

// alive reports whether the delivery's lease has certainly not run out, and it was not withdrawn.
func (l *leases) alive(d *delivery, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(d.until) && !d.withdrawn
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

// connected is called with the number of the connection's reconnects. It returns g.
func (g *gaps) connected(reconnects uint64, now time.Time, lease time.Duration) *gaps {
	g.mu.Lock()
	defer g.mu.Unlock()
	if reconnects != g.reconnects {
		g.reconnects = reconnects
		g.found(now, lease)
	}
	return g
}

func (g *gaps) isSuspect(d *delivery, now time.Time, lease time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.received.Before(g.suspect) || now.Sub(g.heard) > lease/2
}
