package durable

import (
	"context"
	"errors"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// isPlain reports whether a job that is done needs no mark, for nobody can ask for it: no other worker has had the job,
// and nobody knows its id but who has put it.
func (q *Queue) isPlain(d *delivery) bool {
	now := time.Now()
	return d.state.put.IsZero() && d.deliveries == 1 && d.last == d.seq && !q.pulse.isSuspect(d, now, q.config.Lease) &&
		q.leases.alive(d, now) && q.nc.IsConnected()
}

// done stores that the job is done, unless it is plain, and then acknowledges the delivery.
func (q *Queue) done(ctx context.Context, d *delivery) error {
	what := "done: job " + d.id
	if q.isPlain(d) {
		if !q.leases.remove(d) {
			return &failure{what, ErrClosed, nil, "Close has handed it back"}
		}
		if err := q.acks.send(ctx, d.msg); err != nil {
			return explain(what+": it will be attempted again", err)
		}
		return nil
	}
	stored, err := q.settled(ctx, d, q.doneMark(d), nil)
	switch {
	case err != nil:
		q.config.Logger.Error("that a job is done could not be stored, it will be attempted again", "queue", q.config.Name, "id", d.id, "error", err)
		q.handBack(ctx, d, q.pause(ctx, d.state.due))
		return explain(what+": it will be attempted again", err)
	case !stored:
		return &failure{what, ErrTaken, nil, ""}
	}
	return nil
}

// settled stores the outcome m of a delivery, and then acknowledges it: done in this order nothing is lost. It reports
// false if the job has moved on without this worker; then nothing is stored.
func (q *Queue) settled(ctx context.Context, d *delivery, m, with *nats.Msg) (bool, error) {
	stored, err := q.advance(ctx, d, m, with)
	if stored {
		q.drop(ctx, d)
	}
	return stored, err
}

// advance makes the next step of a job that this worker has. It reports false if the job has moved on without it, and
// lets go of the delivery then.
func (q *Queue) advance(ctx context.Context, d *delivery, m, with *nats.Msg) (bool, error) {
	for {
		seq, err := q.store(ctx, step{id: d.id, last: d.last, m: m, with: with}, patience)
		if err == nil {
			d.last = seq
			return true, nil
		}
		if err != errMoved {
			return false, err
		}
		last, err := q.lastOf(ctx, d.id)
		switch {
		case err != nil:
			return false, err
		case last != nil && last.Sequence == d.seq && d.last != d.seq: // the mark has expired: the attempt took longer
			d.last = d.seq
			continue
		case last != nil && isClaim(&q.config, last.Subject, last.Header):
			q.abandon(d) // another worker is at it
		default:
			q.drop(ctx, d)
		}
		return false, nil
	}
}

// isClaim reports whether a message is the mark of a job that is not done.
func isClaim(c *Config, subject string, h nats.Header) bool {
	_, s, _ := c.parseSubject(subject)
	return s == mark && get(h, headerDone) == ""
}

// guard is stored together with an outcome of a job that another worker may have acknowledged since: only if its
// message is there still.
func (q *Queue) guard(d *delivery, m *nats.Msg) *nats.Msg {
	m.Header[headerLastSubject] = []string{d.msg.Subject()}
	m.Header[headerLastSequence] = []string{strconv.FormatUint(d.seq, 10)}
	return m
}

// fail has the policy decide about a failure, and stores what it says.
// The policy's hooks are called under hooks.
func (q *Queue) fail(ctx, hooks context.Context, d *delivery, failed error, began time.Time) error {
	at := time.Now()
	if d.state.put.IsZero() {
		d.state.put = d.put
	}
	if s, ok := errors.AsType[*snooze](failed); ok {
		d.state.due = at.Add(s.d)
		return q.reschedule(ctx, d)
	}
	delay, end := q.decide(hooks, d, stream.Failure{Err: failed, Lasted: at.Sub(began)}, at)
	d.state.lastError = text(failed)
	if p, ok := end.(*policyPanic); ok {
		d.state.lastError += "; then the policy: " + p.Error()
	}
	if end != nil {
		return q.bury(ctx, hooks, d, end, began, at)
	}
	q.counts.retried.Add(1)
	d.state.due = at.Add(delay)
	if delay < short && d.feed.mayHold() {
		return q.hold(ctx, d)
	}
	return q.reschedule(ctx, d)
}

// hold keeps the job here for a short wait. Its state is stored in the mark, so that nobody who has it later makes an
// attempt twice that has failed.
func (q *Queue) hold(ctx context.Context, d *delivery) error {
	stored, err := q.advance(ctx, d, q.mark(d, 0), nil)
	if err != nil {
		return q.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	if !stored {
		return nil
	}
	d.begun, d.looked, d.claimed, d.held = 0, true, false, true
	if d.feed.hold(d) {
		return nil
	}
	return q.reschedule(ctx, d)
}

// policyPanic ends a job whose failure the policy could not decide about.
type policyPanic struct{ PanicError }

// decide is the policy's Decide. A predicate or hook that panics ends the job: it would again.
func (q *Queue) decide(hooks context.Context, d *delivery, f stream.Failure, at time.Time) (delay time.Duration, end error) {
	defer func() {
		if v := recover(); v != nil {
			end = &policyPanic{PanicError{v, debug.Stack()}}
		}
	}()
	return q.policyOf(d.state.kind).Decide(hooks, &d.state.row, f, at, time.Time{})
}

// text is err.Error(), whatever that does.
func text(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "an error whose Error method panics"
		}
	}()
	return err.Error()
}

// reschedule stores the next attempt.
func (q *Queue) reschedule(ctx context.Context, d *delivery) error {
	m := &nats.Msg{Header: d.state.header(), Data: d.msg.Data()}
	q.schedule(d.id, m, d.state.due)
	var with *nats.Msg
	if d.deliveries > 1 || d.looked {
		with = q.guard(d, q.mark(d, 0))
	}
	if _, err := q.settled(ctx, d, m, with); err != nil {
		return q.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	return nil
}

// bury stores the dead letter. began is when the last attempt began.
func (q *Queue) bury(ctx, hooks context.Context, d *delivery, end error, began, at time.Time) error {
	if d.state.put.IsZero() {
		d.state.put = d.put
	}
	s := d.state
	s.due = time.Time{}
	if errors.Is(end, ErrAbandoned) {
		s.lastError = end.Error()
	}
	m := &nats.Msg{Subject: q.config.subject(d.id, dead), Header: s.header(), Data: d.msg.Data()}
	m.Header[headerCause] = []string{cause(end)}
	m.Header[headerDied] = []string{formatTime(at)}
	m.Header[headerError] = []string{errorText(s.lastError)}
	if q.config.KeepDead > 0 {
		expires(m, q.config.KeepDead)
	}
	stored, err := q.settled(ctx, d, m, q.guard(d, q.doneMark(d)))
	if err != nil {
		return q.notSettled(ctx, d, "store the dead letter of job "+d.id, err)
	}
	if stored {
		q.counts.died.Add(1)
		q.boundDead(ctx)
		q.over(hooks, &s, began, end)
	}
	return nil
}

// notSettled hands back a job whose outcome could not be stored.
func (q *Queue) notSettled(ctx context.Context, d *delivery, what string, err error) error {
	q.config.Logger.Error("an outcome could not be stored, the job is handed back", "queue", q.config.Name, "id", d.id, "error", err)
	q.handBack(ctx, d, q.pause(ctx, d.state.due))
	return explain(what, err)
}

// pause is how long a job is handed back for whose outcome could not be stored: at the end of all work not at all, for
// it is another worker's then; else for a lease, since the next attempt may fare the same.
func (q *Queue) pause(ctx context.Context, due time.Time) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(q.config.Lease, time.Until(due))
}

// cause says in a word why the job ended.
func cause(end error) string {
	if e, ok := errors.AsType[*retry.Error](end); ok {
		return e.Cause.Error()
	}
	if errors.Is(end, ErrAbandoned) {
		return "abandoned"
	}
	return "permanent"
}
