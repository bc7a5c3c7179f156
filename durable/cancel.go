package durable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// Cancel ends the job with this id before it is done: no attempt begins after Cancel has returned nil, and it leaves no
// dead letter. Its id is known for Config.Remember. The context of a handler of Work that has the job ends within a
// quarter of a lease, mostly at once, with the cause ErrCancelled, and what the handler returns is dropped. An attempt
// of Jobs goes on, and its report is refused.
//
// Cancel waits for the response of the worker that has the job. If the job was delivered and no worker responds,
// because the worker is dead, hangs or has handed the job back, that takes up to half a lease. If ctx ends meanwhile,
// the error says so; then the job is cancelled, but an attempt may still begin. Cancel returns an error that matches
// ErrNotFound if there is no such job, or if it has ended. If the server does not respond, the error matches
// ErrUnreachable or ErrNotStored, and Cancel may be called again.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	r := q.request("cancel: job "+strconv.Quote(id), "cancel it again")
	delivered, err := r.conclude(ctx, id, false)
	if delivered == nil {
		return err
	}
	return r.withdraw(ctx, id, delivered, q.lease()/2)
}

// Forget deletes the dead letter with this id. It returns an error that matches ErrNotFound if there is none. The id is
// known for Config.Remember. If the server does not respond, the error matches ErrUnreachable or ErrNotStored, and
// Forget may be called again.
func (q *Queue) Forget(ctx context.Context, id string) error {
	_, err := q.request("forget: job "+strconv.Quote(id), "forget it again").conclude(ctx, id, true)
	return err
}

// conclude stores that the job is done and discards all that is left of it, if it is a dead letter or not, as isDead
// says. It returns the last message that a worker may have got.
func (r request) conclude(ctx context.Context, id string, isDead bool) (delivered *jetstream.RawStreamMsg, err error) {
	none := &failure{r.what, ErrNotFound, nil, ""}
	err, marked, found := errMoved, false, false
	for n := 0; n < 10 && err == errMoved; n++ { // as long as it moves on meanwhile
		m, looked := r.lastOf(ctx, id)
		switch {
		case looked != nil:
			return nil, explain(r.what, looked)
		case m == nil:
			return nil, none
		case r.config.stateOf(m) == StateDone: // perhaps by a call that has ended halfway
			err = nil
		case (r.config.stateOf(m) == StateDead) != isDead:
			return nil, none
		default:
			// The mark comes first: without it, a delivery that was never acknowledged would be attempted again.
			err = r.make(ctx, step{id: id, last: m.Sequence, m: r.config.doneMark(id, parseTime(get(m.Header, headerPut)))}, storePolicy)
			marked = marked || err == nil
		}
		if err == nil {
			found, delivered, err = r.clear(ctx, id, isDead)
		}
	}
	switch {
	case err != nil:
		return nil, r.notStored(ctx, err)
	case !marked && !found:
		return nil, none
	}
	return delivered, nil
}

// clear discards all that is left of a job that has ended. It reports whether there was a dead letter or something
// else, as isDead says, and returns the last message that may have been delivered. It returns errMoved if one was
// replaced meanwhile.
func (r request) clear(ctx context.Context, id string, isDead bool) (found bool, delivered *jetstream.RawStreamMsg, err error) {
	for from := uint64(1); ; {
		m, err := r.next(ctx, r.config.all(id), from)
		if err != nil || m == nil {
			return found, delivered, err
		}
		if _, s, _ := r.config.parseSubject(m.Subject); s != mark && get(m.Header, headerDone) == "" {
			if s == first || s == again {
				delivered = m
			}
			found = found || (s == dead) == isDead // the letter of a job that was revived is left too
			ctx, cancel := r.within(ctx)
			err := retry.Run(ctx, storePolicy, func(ctx context.Context) error { return r.discard(ctx, id, m) })
			if cancel(); err != nil {
				return found, delivered, err
			}
		}
		from = m.Sequence + 1
	}
}

// withdraw returns when no worker can begin an attempt at a cancelled job, whose message was m: when m was never
// delivered, no worker is there, or the worker that has the job has responded; else after the time, because a worker
// that was silent for so long claims before it begins.
func (r request) withdraw(ctx context.Context, id string, m *jetstream.RawStreamMsg, wait time.Duration) error {
	_, s, _ := r.config.parseSubject(m.Subject)
	if info, err := r.consumer(s).Info(ctx); err == nil && m.Sequence > info.Delivered.Stream {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err := r.nc.RequestWithContext(waiting, r.config.cancelSubject(), []byte(id))
	if err == nil || errors.Is(err, nats.ErrNoResponders) || waiting.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("durable: %s: it is cancelled, but a worker that has not responded may still begin an attempt: %w", r.what, err)
}
