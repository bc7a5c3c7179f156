package durable

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// verdict is the result of check.
type verdict int

const (
	begin verdict = iota // the attempt is made
	alone                // the attempt may only be made while no other attempt runs in this process
	skip                 // no attempt is made: the delivery is settled, held or abandoned
)

// claimTTL is the time to live of a mark of an attempt that has begun. Attempts may take longer: see advance.
const claimTTL = 24 * time.Hour

// check decides whether an attempt at the delivery may begin. For the first delivery of a fresh job it sends no
// request.
//
// A job that was delivered before, or that another worker may have got during a gap of this process, is claimed first:
// check stores a mark, on the condition that the job's last message is the one delivered. So a job that has moved on is
// not attempted, the outcome of the worker that had it before is refused, and attempts that begin and never end are
// counted.
func (q *Queue) check(ctx context.Context, d *delivery, isAlone bool) verdict {
	now := time.Now()
	q.gaps.tick(now, q.config.Lease)
	if !q.leases.begin(d, now) {
		q.abandon(d)
		return skip
	}
	if d.held {
		d.held = false
		return begin
	}
	if d.deliveries == 1 && !d.looked && !q.gaps.isSuspect(d, now, q.config.Lease) {
		if d.stage == again && q.hasEnded(ctx, d) {
			q.drop(ctx, d)
			return skip
		}
		return begin
	}
	for range 10 {
		switch {
		case d.begun >= uint64(q.config.MaxCrashes):
			q.giveUp(ctx, ctx, d, ErrAbandoned, now, now) // if it fails, it has logged that and handed the job back
			return skip
		case d.begun+1 >= uint64(q.config.MaxCrashes) && !isAlone:
			return alone
		}
		seq, err := q.store(ctx, step{id: d.id, last: d.last, m: q.mark(d, d.begun+1)}, storePolicy)
		if err == nil {
			d.last, d.looked, d.claimed, d.begun = seq, true, true, d.begun+1
			return begin
		}
		if err != errMoved {
			q.config.Logger.Warn("a job could not be claimed, it is handed back", "queue", q.config.Name, "id", d.id, "error", err)
			q.handBack(ctx, d, q.pause(ctx, time.Time{}))
			return skip
		}
		if !q.catchUp(ctx, d) {
			return skip
		}
		if wait := time.Until(d.state.due); wait > 0 && wait <= short && d.feed.hold(d) {
			return skip // the wait of a worker that has died continues here
		}
	}
	q.handBack(ctx, d, 0) // its mark changes all the time
	return skip
}

// hasEnded reports whether the job of a fired schedule was done or dead before. A server that is killed between storing
// the message and removing the schedule fires the schedule again after its restart.
func (q *Queue) hasEnded(ctx context.Context, d *delivery) bool {
	m, err := q.last(ctx, q.config.subject(d.id, mark))
	return err == nil && m != nil && get(m.Header, headerDone) != "" && parseTime(get(m.Header, headerPut)).Equal(d.state.put)
}

// catchUp updates d from the job's last message. It returns false if the delivery is over, because the job has moved on
// or a later delivery of it was claimed.
func (q *Queue) catchUp(ctx context.Context, d *delivery) bool {
	m, err := q.lastOf(ctx, d.id)
	if err != nil {
		q.config.Logger.Warn("the state of a job could not be read, the job is handed back", "queue", q.config.Name, "id", d.id, "error", err)
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
	if s := readState(m.Header); s.retry.Attempts > d.state.retry.Attempts {
		s.user, s.retry.Fires = d.state.user, q.policyOf(d.state.kind).Fires()
		d.state = s
	}
	return true
}

// unclaim takes a claim back, because its worker has not died.
func (q *Queue) unclaim(ctx context.Context, d *delivery) error {
	m := q.mark(d, d.begun-1)
	seq, err := q.store(ctx, step{id: d.id, last: d.last, m: m}, storePolicy.With(retry.Limit(1)))
	if err == nil {
		d.last, d.begun, d.claimed = seq, d.begun-1, false
	}
	return err
}

// mark returns a mark with the job's state, but without its data and the headers of PutHeader.
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
