package durable

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// verdict is what becomes of a delivery when its turn has come.
type verdict int

const (
	begin   verdict = iota // the attempt is made
	alone                  // it is made if nothing else runs here
	nothing                // there is nothing to be made: the delivery is settled or let go
)

// claimTTL is how long a mark lasts that says that an attempt was begun. Attempts may last longer: see settled.
const claimTTL = 24 * time.Hour

// check looks whether an attempt at the delivery may begin. Most jobs are delivered once, and nobody need be asked.
//
// What was delivered before, or may have changed hands while this process stood still, is claimed first: a mark is
// stored, on the condition that the job's last message is the one delivered. So a job that has moved on is not
// attempted, whoever had it writes in vain from then on, and it is known how often attempts begin that never end.
func (q *Queue) check(ctx context.Context, d *delivery, isAlone bool) verdict {
	now := time.Now()
	q.pulse.tick(now, q.config.Lease)
	if !q.leases.begin(d, now) {
		q.abandon(d)
		return nothing
	}
	if d.held {
		d.held = false
		return begin
	}
	if d.deliveries == 1 && !d.looked && !q.pulse.isSuspect(d, now, q.config.Lease) {
		if d.stage == again && q.hasEnded(ctx, d) {
			q.drop(ctx, d)
			return nothing
		}
		return begin
	}
	for range 10 {
		switch {
		case d.begun >= uint64(q.config.MaxCrashes):
			q.bury(ctx, ctx, d, ErrAbandoned, now, now) // or hands it back, and has told the Logger
			return nothing
		case d.begun+1 >= uint64(q.config.MaxCrashes) && !isAlone:
			return alone
		}
		seq, err := q.store(ctx, step{id: d.id, last: d.last, m: q.mark(d, d.begun+1)}, patience)
		if err == nil {
			d.last, d.looked, d.claimed, d.begun = seq, true, true, d.begun+1
			return begin
		}
		if err != errMoved {
			q.config.Logger.Warn("a job could not be claimed, it is handed back", "queue", q.config.Name, "id", d.id, "error", err)
			q.handBack(ctx, d, q.pause(ctx, time.Time{}))
			return nothing
		}
		if !q.catchUp(ctx, d) {
			return nothing
		}
		if wait := time.Until(d.state.due); wait > 0 && wait <= short && d.feed.hold(d) {
			return nothing // the worker that held it until then has died
		}
	}
	q.handBack(ctx, d, 0) // its mark is never the same twice
	return nothing
}

// hasEnded reports whether the job of a fired schedule was done or dead before: a server that is killed between storing
// the message and removing the schedule does it again when it is started.
func (q *Queue) hasEnded(ctx context.Context, d *delivery) bool {
	m, err := q.last(ctx, q.config.subject(d.id, mark))
	return err == nil && m != nil && get(m.Header, headerDone) != "" && parseTime(get(m.Header, headerPut)).Equal(d.state.put)
}

// catchUp brings d up to date with the job's last message. It reports false if the delivery is over: the job has moved
// on, or a later delivery of it has been claimed.
func (q *Queue) catchUp(ctx context.Context, d *delivery) bool {
	m, err := q.lastOf(ctx, d.id)
	if err != nil {
		q.config.Logger.Warn("a job could not be looked at, it is handed back", "queue", q.config.Name, "id", d.id, "error", err)
		q.handBack(ctx, d, q.pause(ctx, time.Time{}))
		return false
	}
	if m != nil && m.Sequence == d.seq { // the mark has expired
		d.last, d.looked, d.begun = d.seq, true, 0
		return true
	}
	if m == nil || !isClaim(&q.config, m.Subject, m.Header) {
		q.drop(ctx, d)
		return false
	}
	if number(m.Header, headerDelivery) > d.deliveries {
		q.abandon(d)
		return false
	}
	d.last, d.looked, d.begun = m.Sequence, true, number(m.Header, headerBegun)
	if s := readState(m.Header); s.row.Attempts > d.state.row.Attempts {
		s.user, s.row.Fires = d.state.user, q.policyOf(d.state.kind).Fires()
		d.state = s
	}
	return true
}

// unclaim takes the claim back: the attempt was cut off by a worker that lives.
func (q *Queue) unclaim(ctx context.Context, d *delivery) error {
	m := q.mark(d, d.begun-1)
	seq, err := q.store(ctx, step{id: d.id, last: d.last, m: m}, patience.With(retry.Limit(1)))
	if err == nil {
		d.last, d.begun, d.claimed = seq, d.begun-1, false
	}
	return err
}

// mark returns a mark that says how a delivery stands. It has the job's state, but not its data and headers.
func (q *Queue) mark(d *delivery, begun uint64) *nats.Msg {
	s := d.state
	s.user = nil
	m := &nats.Msg{Subject: q.config.subject(d.id, mark), Header: s.header()}
	m.Header[headerBegun] = []string{strconv.FormatUint(begun, 10)}
	m.Header[headerDelivery] = []string{strconv.FormatUint(d.deliveries, 10)}
	expires(m, max(claimTTL, q.config.Remember))
	return m
}

// doneMark returns the mark of a job that has ended.
func (q *Queue) doneMark(d *delivery) *nats.Msg {
	m := &nats.Msg{Subject: q.config.subject(d.id, mark), Header: nats.Header{headerDone: {"1"}}}
	if !d.state.put.IsZero() {
		m.Header[headerPut] = []string{formatTime(d.state.put)}
	}
	expires(m, q.config.Remember)
	return m
}
