package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// errUnconfirmed: an earlier publication of the step had no response, so it may have been stored.
var errUnconfirmed = errors.New("an earlier try had no response")

// errMoved: a step was refused, because the job's last message is no longer the one from which the step starts.
var errMoved = errors.New("the job has moved on")

// storePolicy retries publications while the server does not respond.
var storePolicy = retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(2*time.Second).Jitter(jitter.Equal), retry.If(transient))

// step is one step in a job's life: the message m, which is stored if the job's last message still has the sequence
// last.
type step struct {
	id   string
	of   string // the subject of the condition, "" for all of the job
	last uint64
	m    *nats.Msg
	// fresh says that the id was generated for this step, and that the job leaves no mark. Then the first publication has
	// no condition.
	fresh bool
	// unbuffered says that the publication must not wait in the client's buffer until a lost connection is back, when the
	// caller has its error already.
	unbuffered bool
	// holds returns errMoved if the step must not be published. If it is nil, it may be.
	holds func(context.Context) error
	// within returns the context of the tries after the first; if it is nil, they have store's ctx.
	within func(context.Context) (context.Context, context.CancelFunc)
	// ours reports whether a message was stored by this step. It is called after a publication without a response. If it
	// is nil, headerBy identifies the step.
	ours func(*jetstream.RawStreamMsg) bool
}

// store stores the step and returns the sequence of its message, or errMoved. It retries transient failures by policy.
func (b *backend) store(ctx context.Context, s step, policy retry.Policy) (uint64, error) {
	if s.ours == nil {
		by := nuid.Next()
		s.m.Header[headerBy] = []string{by}
		s.ours = func(m *jetstream.RawStreamMsg) bool { return get(m.Header, headerBy) == by }
	}
	if !s.fresh {
		b.setCondition(s)
	}
	wait, unconfirmed, before := firstWait, false, b.nc.LastError()
	try := func(ctx context.Context) (uint64, error) {
		ack, err := b.publish(ctx, s, wait)
		code := apiCode(err)
		moved := err == errMoved || code == jetstream.JSErrCodeStreamWrongLastSequence
		switch {
		case err == nil:
			return ack.Sequence, nil
		case moved && !unconfirmed:
			return 0, errMoved
		case moved:
			m, looked := b.lastOf(ctx, s.id)
			switch {
			case looked != nil:
				return 0, looked
			case m != nil && s.ours(m):
				return m.Sequence, nil
			}
			return 0, errMoved
		case code == 0 && err != nats.ErrDisconnected: // which says that it was not sent
			unconfirmed = true
			if denied := b.denied(before); denied != nil && strings.Contains(denied.Error(), s.m.Subject) {
				err = denied
			}
		}
		if unconfirmed && means(err, ErrFull) {
			err = fmt.Errorf("%w: %w", errUnconfirmed, err)
		}
		return 0, err
	}
	seq, err := try(ctx)
	if err == nil || ctx.Err() != nil || !transient(err) {
		return seq, err
	}
	wait = laterWait
	b.setCondition(s)
	if s.within == nil {
		return retry.Do(ctx, policy, try)
	}
	within, cancel := s.within(ctx)
	defer cancel()
	return retry.Do(within, policy, try)
}

// setCondition sets the headers by which the server refuses the step if the job has moved on.
func (b *backend) setCondition(s step) {
	s.m.Header[headerLastSequence] = []string{strconv.FormatUint(s.last, 10)}
	s.m.Header[headerLastSubject] = []string{cmp.Or(s.of, b.config.all(s.id))}
}

// publish publishes the step once and waits for the response.
func (b *backend) publish(ctx context.Context, s step, wait time.Duration) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if s.holds != nil {
		if err := s.holds(ctx); err != nil {
			return nil, err
		}
	}
	if s.unbuffered && b.nc.IsReconnecting() {
		return nil, nats.ErrDisconnected
	}
	return b.js.PublishMsg(ctx, s.m, jetstream.WithRetryAttempts(0))
}

// lastOf returns the job's last message, nil if it has none.
func (b *backend) lastOf(ctx context.Context, id string) (*jetstream.RawStreamMsg, error) {
	return b.last(ctx, b.config.all(id))
}

// last returns the last message of the subject, nil if it has none.
func (b *backend) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	m, err := b.jobs.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// next returns the first message of the subject from the sequence on, nil if there is none.
func (b *backend) next(ctx context.Context, subject string, from uint64) (*jetstream.RawStreamMsg, error) {
	m, err := b.jobs.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// remove deletes a message.
func (b *backend) remove(ctx context.Context, seq uint64) error {
	err := b.ask(ctx, "STREAM.MSG.DELETE."+b.config.streamName(), func(ctx context.Context) error { return b.jobs.DeleteMsg(ctx, seq) })
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil // it is gone
	}
	return err
}

// tryRemove deletes a message if the user may delete, and reports whether he may.
func (b *backend) tryRemove(ctx context.Context, seq uint64) (may bool, err error) {
	if b.mayNotDelete.Load() {
		return false, nil
	}
	if err = b.remove(ctx, seq); !errors.Is(err, nats.ErrPermissionViolation) {
		return true, err
	}
	if b.mayNotDelete.CompareAndSwap(false, true) {
		b.config.Logger.Warn("messages cannot be deleted, the user lacks the permission: Stats counts the dead letters of revived jobs "+
			"until the jobs have ended, and what was cancelled or forgotten comes back if the server is killed", "error", err)
	}
	return false, nil
}

// discard deletes the message m of a job that has ended. If the user may not delete, m is replaced by a mark "done",
// which expires or which a worker acknowledges. But if the server is killed after that, m comes back, because the
// server writes nothing about messages that were replaced. discard returns errMoved if another message was there then.
func (b *backend) discard(ctx context.Context, id string, m *jetstream.RawStreamMsg) error {
	if may, err := b.tryRemove(ctx, m.Sequence); may {
		return err
	}
	instead := b.config.doneMark(id, parseTime(get(m.Header, headerPut)))
	instead.Subject = m.Subject
	if _, s, _ := b.config.parseSubject(m.Subject); s == later || s == dead { // no worker acknowledges it
		expires(instead, time.Second)
	}
	_, err := b.store(ctx, step{id: id, of: m.Subject, last: m.Sequence, m: instead}, storePolicy)
	return err
}
