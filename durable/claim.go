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
	q.gaps.tick(now, q.lease())
	if !q.leases.begin(d, now) {
		q.abandon(d)
		return skip
	}
	switch {
	case d.over:
		q.drop(ctx, d, true)
		return skip
	case d.held:
		d.held = false
		return begin
	}
	if d.deliveries == 1 && !d.looked && !q.isSuspect(d, now) {
		if d.stage == again && q.hasEnded(ctx, d) {
			q.drop(ctx, d, false)
			return skip
		}
		return begin
	}
	for range 10 {
		switch {
		case d.begun >= uint64(q.config.MaxCrashes):
			op := q.operation(ctx, &d.state)
			q.giveUp(ctx, &op, d, ErrAbandoned, q.now(), q.now()) // if it fails, it has logged that and handed the job back
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
		switch wait := q.until(d.state.due); {
		case wait > short: // see keep
			q.handBack(ctx, d, wait)
			return skip
		case wait > 0 && d.feed.hold(d): // the wait of a worker that has died continues here
			return skip
		}
	}
	q.handBack(ctx, d, 0) // its mark changes all the time
	return skip
}

// hasEnded reports whether the job of a fired schedule was done or dead before. A server that is killed between storing
// the message and removing the schedule fires the schedule again after its restart.
func (q *Queue) hasEnded(ctx context.Context, d *delivery) bool {
	for _, s := range []stage{mark, dead} {
		m, err := q.last(ctx, q.config.subject(d.id, s))
		if err == nil && m != nil && isEnd(s, m.Header) && parseTime(get(m.Header, headerPut)).Equal(d.state.put) {
			return true
		}
	}
	return false
}

// isEnd reports whether a message says that its job has ended: it is a dead letter, or a mark that the job is done.
func isEnd(s stage, h nats.Header) bool { return s == dead || get(h, headerDone) != "" }

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
		q.drop(ctx, d, m != nil && get(m.Header, headerDone) != "")
		return false
	}
	if number(m.Header, headerDelivery) > d.deliveries {
		q.abandon(d)
		return false
	}
	d.last, d.looked, d.begun, d.marked = m.Sequence, true, number(m.Header, headerBegun), m.Time
	s := readState(m.Header)
	d.state.position = s.position
	if s.retry.Attempts() > d.state.retry.Attempts() {
		s.user, s.revived = d.state.user, d.state.revived
		d.state = s
	}
	return true
}

// unclaim takes a claim back, because its worker has not died, and stores the job's position.
func (q *Queue) unclaim(ctx context.Context, d *delivery) error {
	begun := d.begun
	if d.claimed {
		begun--
	}
	seq, err := q.store(ctx, step{id: d.id, last: d.last, m: q.mark(d, begun)}, storePolicy.With(retry.Limit(1)))
	if err == nil {
		d.last, d.begun, d.claimed, d.moved = seq, begun, false, false
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
	expires(m, q.markTTL(d))
	return m
}

// markTTL returns how long a mark of the job is kept.
func (q *Queue) markTTL(d *delivery) time.Duration {
	if len(d.state.position) > 0 {
		return max(positionTTL, q.config.Remember)
	}
	return max(claimTTL, q.config.Remember)
}

// doneMark returns the mark of a job that was put at the given time and has ended.
func (q *Queue) doneMark(id string, put time.Time) *nats.Msg {
	m := &nats.Msg{Subject: q.config.subject(id, mark), Header: nats.Header{headerDone: {"1"}}}
	if !put.IsZero() {
		m.Header[headerPut] = []string{formatTime(put)}
	}
	expires(m, q.config.Remember)
	return m
}

// bury replaces the old dead letter of a job that was revived and is done, if the letter still exists, by a mark that
// expires soon. Otherwise the letter would be the job's last message again when the mark "done" has expired.
func (q *Queue) bury(ctx context.Context, d *delivery) error {
	subject := q.config.subject(d.id, dead)
	letter, err := q.last(ctx, subject)
	if err != nil || letter == nil || get(letter.Header, headerDone) != "" {
		return err
	}
	m := q.doneMark(d.id, d.state.put)
	m.Subject = subject
	expires(m, time.Second)
	if _, err = q.store(ctx, step{id: d.id, of: subject, last: letter.Sequence, m: m}, storePolicy); err == errMoved {
		return nil
	}
	return err
}
