package durable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// outcomes stores how attempts have ended.
type outcomes struct {
	*holder
	kinds kinds
	bound bound
}

// kind holds the policy and the handler of one kind of jobs.
type kind struct {
	policy  retry.Policy
	handler func(context.Context, *Job) error
}

// kinds holds the kinds that have a handler.
type kinds struct {
	all     sync.Map // from string to kind
	strange sync.Map // kinds without a handler, from string to the time.Time at which that was logged
}

// kindOf returns the policy and the handler for jobs of a kind. otherwise is the handler of a kind without one.
func (o *outcomes) kindOf(name string, otherwise func(context.Context, *Job) error) kind {
	if k, ok := o.kinds.all.Load(name); ok {
		return k.(kind)
	}
	return kind{o.config.Policy, otherwise}
}

func (k *kinds) any() (some bool) {
	k.all.Range(func(any, any) bool { some = true; return false })
	return some
}

// needsNoMark reports whether the delivery of a job that is done may be acknowledged without a mark "done": no other
// worker has had the job, and it was put without an id.
func (o *outcomes) needsNoMark(d *delivery) bool {
	now := time.Now()
	return d.state.put.IsZero() && d.deliveries == 1 && d.last == d.seq && !o.isSuspect(d, now) &&
		o.leases.alive(d, now) && o.nc.IsConnected()
}

// done stores that the job is done, unless it needs no mark, and then acknowledges the delivery.
func (o *outcomes) done(ctx context.Context, d *delivery) error {
	what := "done: job " + d.id
	if o.needsNoMark(d) {
		if !o.leases.remove(d) {
			return &failure{what, ErrClosed, nil, "Close has handed the job back, it will be attempted again"}
		}
		if err := o.acks.send(ctx, d.msg); err != nil {
			return explain(what+": it will be attempted again", err)
		}
		return nil
	}
	stored, err := o.settled(ctx, d, o.config.doneMark(d.id, d.state.put))
	switch {
	case err != nil:
		return o.notSettled(ctx, d, what+": it will be attempted again", err)
	case !stored:
		return &failure{what, ErrTaken, nil, ""}
	}
	return nil
}

// settled stores the outcome m of a delivery, and then acknowledges the delivery. In this order nothing is lost. It
// returns false if another worker has moved the job on; then nothing is stored.
func (o *outcomes) settled(ctx context.Context, d *delivery, m *nats.Msg) (bool, error) {
	stored, err := o.advance(ctx, d, m)
	if stored {
		o.drop(ctx, d, get(m.Header, headerDone) != "")
	}
	return stored, err
}

// advance makes the next step of a job that this worker has. If another worker has moved the job on, advance drops or
// abandons the delivery and returns false.
func (o *outcomes) advance(ctx context.Context, d *delivery, m *nats.Msg) (bool, error) {
	for {
		seq, err := o.store(ctx, o.step(d, m), storePolicy)
		if err == nil {
			d.last = seq
			return true, nil
		}
		if err != errMoved {
			return false, err
		}
		last, err := o.lastOf(ctx, d.id)
		switch {
		case err != nil:
			return false, err
		case last == nil || o.config.stateOf(last) == StateRunning:
			o.abandon(d) // it is gone, or another worker has it
		case last.Sequence == d.seq && d.last != d.seq: // the attempt took so long that its mark has expired
			d.last = d.seq
			continue
		default:
			o.drop(ctx, d, o.config.stateOf(last) == StateDone)
		}
		return false, nil
	}
}

// fail stores what the policy decides about a failure. hooks is the context of the policy's hooks.
func (o *outcomes) fail(ctx, hooks context.Context, d *delivery, failed error, began time.Time) error {
	at := o.now()
	if d.state.put.IsZero() {
		d.state.put = d.put
	}
	op := o.operation(hooks, &d.state)
	if s, ok := errors.AsType[*snooze](failed); ok {
		d.state.due = at.Add(s.d)
		if s.done {
			d.state.retry, d.state.lastError = retry.State{}, ""
		}
		stored, err := o.reschedule(ctx, d)
		if stored && s.done {
			o.endOperation(&op, began, nil)
		}
		return err
	}
	delay, end := d.decide(&op, retry.Outcome{Err: failed, Lasted: at.Sub(began), At: at})
	d.state.lastError = text(failed)
	if p, ok := end.(*policyPanic); ok {
		d.state.lastError += "; then the policy: " + p.Error()
	}
	if end != nil {
		return o.giveUp(ctx, &op, d, end, began, at)
	}
	o.counts.retried.Add(1)
	d.state.due = at.Add(delay)
	if delay < short {
		return o.hold(ctx, d)
	}
	_, err := o.reschedule(ctx, d)
	return err
}

// hold keeps the job in this process for a short wait. Its state is stored in the mark, so that a worker that gets the
// job later does not repeat the failed attempt.
func (o *outcomes) hold(ctx context.Context, d *delivery) error {
	stored, err := o.advance(ctx, d, o.config.mark(d, 0))
	if err != nil {
		return o.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	if !stored {
		return nil
	}
	d.state.retry = readState(d.state.header()).retry // here too a Signal has no effect
	d.begun, d.looked, d.claimed, d.moved, d.held = 0, true, false, false, true
	if !d.feed.hold(d) {
		_, err = o.reschedule(ctx, d)
	}
	return err
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

// reschedule stores the next attempt. It returns false if another worker has moved the job on.
func (o *outcomes) reschedule(ctx context.Context, d *delivery) (bool, error) {
	m := &nats.Msg{Header: d.state.header(), Data: d.msg.Data()}
	o.config.schedule(d.id, m, d.state.due)
	stored, err := o.settled(ctx, d, m)
	if err != nil {
		err = o.notSettled(ctx, d, "store the retry of job "+d.id, err)
	}
	return stored, err
}

// giveUp stores the dead letter. began is when the last attempt began, at is when the job was given up.
func (o *outcomes) giveUp(ctx context.Context, op *retry.Operation, d *delivery, end error, began, at time.Time) error {
	if d.state.put.IsZero() {
		d.state.put = d.put
	}
	s := d.state
	s.due = time.Time{}
	if errors.Is(end, ErrAbandoned) {
		s.lastError = end.Error()
	}
	m := &nats.Msg{Subject: o.config.subject(d.id, dead), Header: s.header(), Data: d.msg.Data()}
	m.Header[headerCause] = []string{cause(end)}
	m.Header[headerDied] = []string{formatTime(at)}
	m.Header[headerError] = []string{errorText(s.lastError, errorRoom-len(s.position))}
	if o.config.KeepDead > 0 {
		expires(m, o.config.KeepDead)
	}
	stored, err := o.settled(ctx, d, m)
	if err != nil {
		return o.notSettled(ctx, d, "store the dead letter of job "+d.id, err)
	}
	if stored {
		o.counts.died.Add(1)
		o.bound.check(ctx)
		o.endOperation(op, began, end)
	}
	return nil
}

// notSettled hands back a job whose outcome could not be stored, and returns the error.
func (o *outcomes) notSettled(ctx context.Context, d *delivery, what string, err error) error {
	o.config.Logger.Error("the outcome of an attempt could not be stored, the job is handed back", "id", d.id, "error", err)
	o.handBack(ctx, d, o.pause(ctx, d.state.due))
	return explain(what, err)
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

// operation returns the operation of a job whose failures before are in s. hooks is the context of the policy's hooks;
// its end does not end the operation.
func (o *outcomes) operation(hooks context.Context, s *state) retry.Operation {
	var last error
	if s.lastError != "" {
		last = errors.New(s.lastError)
	}
	return o.kindOf(s.kind, nil).policy.Continue(context.WithoutCancel(hooks), s.retry, last)
}

// endOperation ends the operation of a job whose final outcome is stored: it calls the policy's hooks. began is when
// the last attempt began. If a hook panics, that is only logged, because the job has ended.
func (o *outcomes) endOperation(op *retry.Operation, began time.Time, err error) {
	defer func() {
		if v := recover(); v != nil {
			o.config.Logger.Error("a hook of the policy panicked", "panic", v)
		}
	}()
	now := o.now()
	_ = op.Done(retry.Outcome{Err: err, Lasted: now.Sub(began), At: now})
}

// Snooze returns an error that postpones a job when its handler returns it: the job is attempted again after d. The
// policy is not consulted, and the attempt does not count, neither as a failure nor as a success: the failures before
// still count. See Job.Again for a round that has succeeded. Snooze panics when d is negative.
func Snooze(d time.Duration) error {
	if d < 0 {
		panic(fmt.Sprintf("durable: Snooze: d is %v, want at least 0", d))
	}
	return &snooze{d, false}
}

type snooze struct {
	d    time.Duration
	done bool // a round of the job is done
}

func (s *snooze) Error() string { return fmt.Sprintf("durable: snooze for %v", s.d) }
