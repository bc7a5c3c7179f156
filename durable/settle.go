package durable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// needsNoMark reports whether the delivery of a job that is done may be acknowledged without a mark "done": no other
// worker has had the job, and it was put without an id.
func (q *Queue) needsNoMark(d *delivery) bool {
	now := time.Now()
	return d.state.put.IsZero() && d.deliveries == 1 && d.last == d.seq && !q.isSuspect(d, now) &&
		q.leases.alive(d, now) && q.nc.IsConnected()
}

// done stores that the job is done, unless it needs no mark, and then acknowledges the delivery.
func (q *Queue) done(ctx context.Context, d *delivery) error {
	what := "done: job " + d.id
	if q.needsNoMark(d) {
		if !q.leases.remove(d) {
			return &failure{what, ErrClosed, nil, "Close has handed the job back, it will be attempted again"}
		}
		if err := q.acks.send(ctx, d.msg); err != nil {
			return explain(what+": it will be attempted again", err)
		}
		return nil
	}
	stored, err := q.settled(ctx, d, q.doneMark(d.id, d.state.put))
	switch {
	case err != nil:
		q.config.Logger.Error("a job's success could not be stored, the job will be attempted again", "queue", q.config.Name, "id", d.id, "error", err)
		q.handBack(ctx, d, q.pause(ctx, d.state.due))
		return explain(what+": it will be attempted again", err)
	case !stored:
		return &failure{what, ErrTaken, nil, ""}
	}
	return nil
}

// settled stores the outcome m of a delivery, and then acknowledges the delivery. In this order nothing is lost. It
// returns false if another worker has moved the job on; then nothing is stored.
func (q *Queue) settled(ctx context.Context, d *delivery, m *nats.Msg) (bool, error) {
	stored, err := q.advance(ctx, d, m)
	if stored {
		q.drop(ctx, d, get(m.Header, headerDone) != "")
	}
	return stored, err
}

// advance makes the next step of a job that this worker has. If another worker has moved the job on, advance drops or
// abandons the delivery and returns false.
func (q *Queue) advance(ctx context.Context, d *delivery, m *nats.Msg) (bool, error) {
	for {
		seq, err := q.store(ctx, step{id: d.id, last: d.last, m: m}, storePolicy)
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
		case last != nil && last.Sequence == d.seq && d.last != d.seq: // the attempt took so long that its mark has expired
			d.last = d.seq
			continue
		case last != nil && isClaim(&q.config, last.Subject, last.Header):
			q.abandon(d) // another worker has it
		default:
			q.drop(ctx, d, last != nil && get(last.Header, headerDone) != "")
		}
		return false, nil
	}
}

// isClaim reports whether a message is the mark of a job that has not ended.
func isClaim(c *Config, subject string, h nats.Header) bool {
	_, s, _ := c.parseSubject(subject)
	return s == mark && !isEnd(s, h)
}

// fail stores what the policy decides about a failure. hooks is the context of the policy's hooks.
func (q *Queue) fail(ctx, hooks context.Context, d *delivery, failed error, began time.Time) error {
	at := q.now()
	if d.state.put.IsZero() {
		d.state.put = d.put
	}
	if s, ok := errors.AsType[*snooze](failed); ok {
		d.state.due = at.Add(s.d)
		return q.reschedule(ctx, d)
	}
	op := q.operation(hooks, &d.state)
	delay, end := d.decide(&op, retry.Outcome{Err: failed, Lasted: at.Sub(began), At: at})
	d.state.lastError = text(failed)
	if p, ok := end.(*policyPanic); ok {
		d.state.lastError += "; then the policy: " + p.Error()
	}
	if end != nil {
		return q.giveUp(ctx, &op, d, end, began, at)
	}
	q.counts.retried.Add(1)
	d.state.due = at.Add(delay)
	if delay < short && d.feed.mayHold() {
		return q.hold(ctx, d)
	}
	return q.reschedule(ctx, d)
}

// hold keeps the job in this process for a short wait. Its state is stored in the mark, so that a worker that gets the
// job later does not repeat the failed attempt.
func (q *Queue) hold(ctx context.Context, d *delivery) error {
	stored, err := q.advance(ctx, d, q.mark(d, 0))
	if err != nil {
		return q.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	if !stored {
		return nil
	}
	d.begun, d.looked, d.claimed, d.moved, d.held = 0, true, false, false, true
	if d.feed.hold(d) {
		return nil
	}
	return q.reschedule(ctx, d)
}

// policyPanic is the end of a job because the policy has panicked.
type policyPanic struct{ PanicError }

// decide lets the policy decide about a failure. If a predicate or hook panics, the job ends, because it would panic
// again.
func (d *delivery) decide(op *retry.Operation, f retry.Outcome) (delay time.Duration, end error) {
	defer func() {
		d.state.retry = op.State()
		if v := recover(); v != nil {
			end = &policyPanic{PanicError{v, debug.Stack()}}
		}
	}()
	return op.Failed(f)
}

// text returns err.Error(), also if that panics.
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
	switch _, err := q.settled(ctx, d, m); {
	case isTooLarge(err):
		return q.keep(ctx, d, err)
	case err != nil:
		return q.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	return nil
}

// keep stores the next attempt of a job that has become too large for the server: only its state, in the mark. The
// delivered message stays, and is delivered again when the attempt is due.
func (q *Queue) keep(ctx context.Context, d *delivery, cause error) error {
	q.config.Logger.Warn("a job is too large to be stored again, its retry is a redelivery", "queue", q.config.Name, "id", d.id, "error", cause)
	d.state.lastError = d.state.lastError[:min(len(d.state.lastError), 100)]
	wait := max(q.until(d.state.due), 0)
	m := q.mark(d, 0)
	expires(m, wait+q.markTTL(d))
	stored, err := q.advance(ctx, d, m)
	if err != nil {
		return q.notSettled(ctx, d, "store the state of job "+d.id, err)
	}
	if stored {
		d.begun, d.claimed, d.moved = 0, false, false
		q.handBack(ctx, d, wait)
	}
	return nil
}

func isTooLarge(err error) bool {
	if err == nil {
		return false
	}
	_, kind := meaning(err)
	return kind == ErrTooLarge
}

// giveUp stores the dead letter. began is when the last attempt began, at is when the job was given up.
func (q *Queue) giveUp(ctx context.Context, op *retry.Operation, d *delivery, end error, began, at time.Time) error {
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
	m.Header[headerError] = []string{errorText(s.lastError, errorRoom-len(s.position))}
	if q.config.KeepDead > 0 {
		expires(m, q.config.KeepDead)
	}
	stored, err := q.settled(ctx, d, m)
	if isTooLarge(err) { // the server's limit was lowered: better a letter without data than endless attempts
		s.lastError = fmt.Sprintf("%.100s; the %d bytes of data exceed the server's limit and are lost", s.lastError, len(m.Data))
		m.Header[headerError], m.Data = []string{errorText(s.lastError, errorRoom-len(s.position))}, nil
		stored, err = q.settled(ctx, d, m)
	}
	if err != nil {
		return q.notSettled(ctx, d, "store the dead letter of job "+d.id, err)
	}
	if stored {
		q.counts.died.Add(1)
		q.boundDead(ctx)
		q.over(op, began, end)
	}
	return nil
}

// notSettled hands back a job whose outcome could not be stored, and returns the error.
func (q *Queue) notSettled(ctx context.Context, d *delivery, what string, err error) error {
	q.config.Logger.Error("the outcome of an attempt could not be stored, the job is handed back", "queue", q.config.Name, "id", d.id, "error", err)
	q.handBack(ctx, d, q.pause(ctx, d.state.due))
	return explain(what, err)
}

// pause returns how long to delay the redelivery of a job whose outcome could not be stored. It is 0 when this worker
// ends, because another one gets the job. Otherwise it is at least a lease, because the next outcome may not be stored
// either.
func (q *Queue) pause(ctx context.Context, due time.Time) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(q.lease(), q.until(due))
}

// cause returns DeadLetter.Cause.
func cause(end error) string {
	if e, ok := errors.AsType[*retry.Error](end); ok {
		return e.Cause.Error()
	}
	if errors.Is(end, ErrAbandoned) {
		return "abandoned"
	}
	return "permanent"
}
