package durable

import (
	"context"
	"time"
)

// verdict is the result of check.
type verdict int

const (
	begin verdict = iota // the attempt is made
	alone                // the attempt may only be made while no other attempt runs in this process
	skip                 // no attempt is made: the delivery is settled, held or abandoned
)

// attempts decides about attempts and begins them.
type attempts struct {
	*outcomes
	turns turns
}

// check decides whether an attempt at the delivery may begin. For the first delivery of a fresh job it sends no
// request.
//
// A job that was delivered before, or that another worker may have got during a gap of this process, is claimed first:
// check stores a mark, on the condition that the job's last message is the one delivered. So a job that has moved on is
// not attempted, the outcome of the worker that had it before is refused, and attempts that begin and never end are
// counted.
func (a *attempts) check(ctx context.Context, d *delivery, isAlone bool) verdict {
	now := time.Now()
	a.gaps.tick(now, a.lease())
	if !a.leases.begin(d, now) {
		a.abandon(d)
		return skip
	}
	switch {
	case d.cancelled:
		a.drop(ctx, d, true)
		return skip
	case d.held:
		d.held = false
		if !a.isSuspect(d, now) { // else Cancel may have returned without a response
			return begin
		}
	}
	if d.stage == again && !d.looked {
		switch ended, err := a.hasEnded(ctx, d); {
		case err != nil:
			a.unread(ctx, d, err)
			return skip
		case ended:
			a.drop(ctx, d, false)
			return skip
		}
	}
	if d.deliveries == 1 && !d.looked && !a.isSuspect(d, now) {
		return begin
	}
	for range 10 {
		switch {
		case d.begun >= uint64(a.config.MaxCrashes):
			op := a.operation(ctx, &d.state)
			a.giveUp(ctx, &op, d, ErrAbandoned, a.now(), a.now()) // if it fails, it has logged that and handed the job back
			return skip
		case d.begun+1 >= uint64(a.config.MaxCrashes) && !isAlone:
			return alone
		}
		seq, err := a.store(ctx, a.step(d, a.config.mark(d, d.begun+1)), storePolicy)
		if err == nil {
			d.last, d.looked, d.claimed, d.begun = seq, true, true, d.begun+1
			return begin
		}
		if err != errMoved {
			a.config.Logger.Warn("a job could not be claimed, it is handed back", "id", d.id, "error", err)
			a.handBack(ctx, d, a.pause(ctx, time.Time{}))
			return skip
		}
		if !a.catchUp(ctx, d) {
			return skip
		}
		switch wait := a.until(d.state.due); {
		case wait > short: // its outcome could not be stored, but its state could
			a.handBack(ctx, d, wait)
			return skip
		case wait > 0 && d.feed.hold(d): // the wait of a worker that has died continues here
			return skip
		}
	}
	a.handBack(ctx, d, 0) // its mark changes all the time
	return skip
}

// hasEnded reports whether the job of a fired schedule was done or dead before. A server that is killed between storing
// the message and removing the schedule fires the schedule again after its restart, and no condition can refuse that.
// So what says that the job has ended is below the message. It reads the job's messages up to this one; most jobs have
// only this one.
func (a *attempts) hasEnded(ctx context.Context, d *delivery) (bool, error) {
	for from := uint64(1); ; {
		m, err := a.next(ctx, a.config.all(d.id), from)
		switch {
		case err != nil || m == nil || m.Sequence >= d.seq:
			return false, err
		case a.config.stateOf(m).ended() && parseTime(get(m.Header, headerPut)).Equal(d.state.put):
			return true, nil
		}
		from = m.Sequence + 1
	}
}

// unread hands back a job whose messages could not be read.
func (a *attempts) unread(ctx context.Context, d *delivery, err error) {
	a.config.Logger.Warn("the state of a job could not be read, the job is handed back", "id", d.id, "error", err)
	a.handBack(ctx, d, a.pause(ctx, time.Time{}))
}

// catchUp updates d from the job's last message. It returns false if the delivery is over, because the job has moved on
// or a later delivery of it was claimed.
func (a *attempts) catchUp(ctx context.Context, d *delivery) bool {
	m, err := a.lastOf(ctx, d.id)
	if err != nil {
		a.unread(ctx, d, err)
		return false
	}
	switch {
	case m == nil || number(m.Header, headerDelivery) > d.deliveries:
		a.abandon(d)
		return false
	case m.Sequence == d.seq: // the mark has expired
		d.last, d.looked, d.begun = d.seq, true, 0
		return true
	case a.config.stateOf(m) != StateRunning:
		a.drop(ctx, d, a.config.stateOf(m) == StateDone)
		return false
	}
	d.last, d.looked, d.begun = m.Sequence, true, number(m.Header, headerBegun)
	s := readState(m.Header)
	d.state.position = s.position
	if s.retry.Attempts() > d.state.retry.Attempts() {
		s.user, s.revived = d.state.user, d.state.revived
		d.state = s
	}
	return true
}
