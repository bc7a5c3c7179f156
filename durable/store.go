package durable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// errMoved: a write was refused, for the job's last message is not the one that it goes on from.
var errMoved = errors.New("the job has moved on")

// patience is how what must be stored is tried again when the server does not answer.
var patience = retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(2*time.Second).Jitter(jitter.Equal), retry.If(passing))

// firstWait is how long the first publication waits for an answer: one that was under way when its server died gets
// none. laterWait is how long the others do, should it only be slow.
const firstWait, laterWait = 2 * time.Second, 5 * time.Second

// step is one step in a job's life: a message that is stored if the job's last message is still the one of sequence
// last.
type step struct {
	id   string
	last uint64
	m    *nats.Msg
	// with, if there is one, is stored together with m, or neither is: a mark, on conditions of its own.
	with *nats.Msg
	// within bounds the tries after the first, nil for ctx alone.
	within func(context.Context) (context.Context, context.CancelFunc)
	// ours reports whether a message is the one that this step has stored, after a publication without an answer. If it is
	// nil the step is signed with headerBy.
	ours func(*jetstream.RawStreamMsg) bool
}

// store makes the step, and returns the sequence of its message, or errMoved. It tries once, and again while trying
// again may help; policy bounds that.
func (q *Queue) store(ctx context.Context, s step, policy retry.Policy) (uint64, error) {
	if s.ours == nil {
		by := nuid.Next()
		s.m.Header[headerBy] = []string{by}
		s.ours = func(m *jetstream.RawStreamMsg) bool { return get(m.Header, headerBy) == by }
	}
	s.m.Header[headerLastSequence] = []string{strconv.FormatUint(s.last, 10)}
	s.m.Header[headerLastSubject] = []string{q.config.life(s.id)}
	wait, unanswered := firstWait, false
	try := func(ctx context.Context) (uint64, error) {
		ack, err := q.publish(ctx, s, wait)
		switch code := apiCode(err); {
		case err == nil:
			return ack.Sequence, nil
		case code == jetstream.JSErrCodeStreamWrongLastSequence && !unanswered:
			return 0, errMoved
		case code == jetstream.JSErrCodeStreamWrongLastSequence:
			m, looked := q.lastOf(ctx, s.id)
			switch {
			case looked != nil:
				return 0, looked
			case m != nil && s.ours(m):
				return m.Sequence, nil
			}
			return 0, errMoved
		case code == 0:
			unanswered = true
		}
		return 0, err
	}
	seq, err := try(ctx)
	if err == nil || err == errMoved || ctx.Err() != nil || !passing(err) {
		return seq, err
	}
	wait = laterWait
	if s.within == nil {
		return retry.Do(ctx, policy, try)
	}
	within, cancel := s.within(ctx)
	defer cancel()
	seq, err = retry.Do(within, policy, try)
	if cause := context.Cause(within); err != nil && err != errMoved && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return seq, err
}

// publish publishes the step once.
func (q *Queue) publish(ctx context.Context, s step, wait time.Duration) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if s.with != nil {
		batch := []string{nuid.Next()}
		s.with.Header[headerBatchID], s.with.Header[headerBatchSequence] = batch, []string{"1"}
		s.m.Header[headerBatchID], s.m.Header[headerBatchSequence] = batch, []string{"2"}
		s.m.Header[headerBatchCommit] = []string{"1"}
		if err := q.nc.PublishMsg(s.with); err != nil {
			return nil, err
		}
	}
	return q.js.PublishMsg(ctx, s.m, jetstream.WithRetryAttempts(0))
}

// lastOf returns the job's last message, nil if it has none.
func (q *Queue) lastOf(ctx context.Context, id string) (*jetstream.RawStreamMsg, error) {
	return q.last(ctx, q.config.life(id))
}

// last returns the last message of the subject, nil if it has none.
func (q *Queue) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	m, err := q.jobs.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// expires gives a message an end of its own, of whole seconds.
func expires(m *nats.Msg, after time.Duration) {
	seconds := (after + time.Second - 1) / time.Second
	m.Header[headerTTL] = []string{strconv.FormatInt(int64(max(seconds, 1)), 10) + "s"}
}
