package durable

import (
	"context"
	"errors"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// acknowledge has the server forget the delivery.
func (q *Queue) acknowledge(d *delivery) error {
	what := "acknowledge job " + d.state.id + ": it will be attempted again"
	if !q.leases.remove(d) {
		return &failure{what, ErrClosed, nil, "Close has handed it back"}
	}
	if err := q.reply(d.msg.Ack); err != nil {
		return explain(what, err)
	}
	return nil
}

// drop acknowledges the delivery of a job that has moved on. If the server does not hear of it, it gives the job out once
// more, for nothing.
func (q *Queue) drop(d *delivery) {
	if !q.leases.remove(d) {
		return
	}
	if err := q.reply(d.msg.Ack); err != nil {
		q.config.Logger.Warn("a delivery could not be acknowledged", "queue", q.config.Name, "id", d.state.id, "error", err)
	}
}

// fail has the policy decide about a failure, and stores what it says.
func (q *Queue) fail(ctx context.Context, d *delivery, failed error, lasted time.Duration) error {
	at := time.Now()
	delay, end := q.decide(ctx, &d.state.row, stream.Failure{Err: failed, Lasted: lasted}, at)
	d.state.lastError = text(failed)
	if p, ok := end.(*policyPanic); ok {
		d.state.lastError += "; then the policy: " + p.Error()
	}
	if end != nil {
		return q.bury(ctx, d, end, at)
	}
	q.counts.retried.Add(1)
	d.state.due, d.state.from = at.Add(delay), d.seq
	if delay < short && d.feed.hold(d) {
		return nil
	}
	return q.reschedule(ctx, d)
}

// policyPanic ends a job whose failure the policy could not decide about.
type policyPanic struct{ PanicError }

// decide is the policy's Decide. A predicate or hook that panics ends the job: it would again.
func (q *Queue) decide(ctx context.Context, row *retry.State, f stream.Failure, at time.Time) (delay time.Duration, end error) {
	defer func() {
		if v := recover(); v != nil {
			end = &policyPanic{PanicError{v, debug.Stack()}}
		}
	}()
	return q.policy().Decide(ctx, row, f, at, time.Time{})
}

func (q *Queue) policy() engine.Policy[retry.State] { return engine.Of[retry.State](q.config.Policy) }

// text is err.Error(), whatever that does.
func text(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "an error whose Error method panics"
		}
	}()
	return err.Error()
}

// reschedule stores the next attempt and then acknowledges this delivery. Done in this order nothing is lost; and it is
// done once, whoever else has the job: the server refuses the schedule when it knows its id, or when the job's own
// subject shows that a later attempt has been given out.
func (q *Queue) reschedule(ctx context.Context, d *delivery) error {
	if q.wasTaken(ctx, d, time.Now()) {
		q.drop(d)
		return nil
	}
	s := d.state
	s.from = d.seq
	m := q.message(&s, d.msg.Data())
	m.Header[headerMsgID] = []string{publicationID("retry", s.id, strconv.Itoa(s.row.Attempts), strconv.FormatUint(d.seq, 10))}
	last := uint64(0)
	if d.again {
		last = d.seq
	}
	m.Header[headerLastSequence] = []string{strconv.FormatUint(last, 10)}
	m.Header[headerLastSubject] = []string{q.subjectAgain(s.id)}
	err := q.publishFor(ctx, d, m)
	if err != nil {
		q.config.Logger.Error("a retry could not be stored, the job is handed back", "queue", q.config.Name, "id", s.id, "error", err)
		q.handBack(d, q.pause(ctx, s.due))
		return explain("store the retry of job "+s.id, err)
	}
	q.drop(d)
	return nil
}

// pause is how long a job is handed back for whose outcome could not be stored: at the end of all work not at all, for it
// is another worker's then; else for its wait and no less than a lease, since the next attempt may fare the same.
func (q *Queue) pause(ctx context.Context, due time.Time) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(time.Until(due), q.config.Lease)
}

// bury stores the dead letter and then acknowledges the delivery.
func (q *Queue) bury(ctx context.Context, d *delivery, end error, at time.Time) error {
	s := d.state
	s.from, s.due = d.seq, time.Time{}
	if errors.Is(end, ErrAbandoned) {
		s.lastError = end.Error()
	}
	m := &nats.Msg{Subject: q.subjectDead(s.id), Header: s.header(), Data: d.msg.Data()}
	m.Header[headerCause] = []string{cause(end)}
	m.Header[headerDied] = []string{formatTime(at)}
	m.Header[headerError] = []string{errorText(s.lastError)}
	m.Header[headerMsgID] = []string{publicationID("dead", s.id, strconv.FormatUint(d.seq, 10), formatTime(s.put))}
	if q.wasTaken(ctx, d, time.Now()) {
		q.drop(d)
		return nil
	}
	if err := q.publishFor(ctx, d, m); err != nil {
		q.config.Logger.Error("a dead letter could not be stored, the job is handed back", "queue", q.config.Name, "id", s.id, "error", err)
		q.handBack(d, q.pause(ctx, s.due))
		return explain("store the dead letter of job "+s.id, err)
	}
	q.counts.died.Add(1)
	q.drop(d)
	return nil
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

// publishFor publishes m, on behalf of a delivery, until the server has answered or ctx has ended. That the job has
// moved on without this delivery is no error: then there is nothing to be stored.
func (q *Queue) publishFor(ctx context.Context, d *delivery, m *nats.Msg) error {
	wait := firstWait
	publish := func(ctx context.Context) error {
		_, err := q.publish(ctx, m, wait)
		switch apiCode(err) {
		case jetstream.JSErrCodeStreamWrongLastSequence:
			return nil
		case jetstream.JSErrCodeStreamWrongLastSequenceConstant: // or a write to the subject is under way
			if q.movedOn(ctx, d) {
				return nil
			}
		}
		return err
	}
	err := publish(ctx)
	if err == nil || !passing(err) {
		return err
	}
	q.config.Logger.Warn("trying again to store an outcome", "queue", q.config.Name, "id", d.state.id, "error", err)
	wait = laterWait
	return retry.Run(ctx, patience, publish)
}

// wasTaken reports whether another worker has settled the delivery: it may have had it since, or before when it was
// thought to be dead.
func (q *Queue) wasTaken(ctx context.Context, d *delivery, now time.Time) bool {
	if d.deliveries == 1 && now.Sub(d.received) < q.config.Lease {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := q.jobs.GetMsg(ctx, d.seq)
	return errors.Is(err, jetstream.ErrMsgNotFound)
}

// movedOn reports whether the outcome of this delivery has been stored already, by a worker that then died, or was
// taken for dead, before it could acknowledge. In doubt it says no: the attempt is made again.
func (q *Queue) movedOn(ctx context.Context, d *delivery) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	newer := func(s jetstream.Stream, subject string) bool {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return false
		}
		other := readState(m.Header)
		return other.put.Equal(d.state.put) && other.from >= d.seq && !(s == q.jobs && m.Sequence == d.seq)
	}
	return newer(q.jobs, q.subjectLater(d.state.id)) || newer(q.jobs, q.subjectAgain(d.state.id)) ||
		newer(q.dead, q.subjectDead(d.state.id))
}
