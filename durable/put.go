package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// PutOption is one setting of a Put.
type PutOption func(*put)

type put struct {
	id string
}

// PutID gives the job an id: up to 256 bytes of text without control characters, and without spaces at its ends. A second Put with it within
// Config.Duplicates of the first does nothing and returns no error. An id names one job: when it is put again later,
// while the first is still being retried, the two are one. Without PutID the job gets an id that no other has.
func PutID(id string) PutOption {
	return func(p *put) { p.id = id }
}

// patience is how Put and the settling of jobs try again when the server does not answer.
var patience = retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(2*time.Second).Jitter(jitter.Equal), retry.If(passing))

const (
	// putPatience bounds Put under a context without a deadline.
	putPatience = 15 * time.Second
	// firstWait is how long the first publication waits for an answer: one that was under way when its server died
	// gets none. laterWait is how long the others do, should it only be slow.
	firstWait, laterWait = 2 * time.Second, 5 * time.Second
)

// Put stores a job, to be attempted as soon as a worker is free, and returns its id. It returns once the server (with
// Replicas, most of them) has it. While the server does not answer Put tries again, always with the same id, until ctx
// ends, or without a deadline in ctx for 15 s; the error then matches ErrNotStored. Other errors match ErrTooLarge,
// ErrFull, ErrRefused, ErrGone or ErrClosed, and nothing was stored. data is not kept.
func (q *Queue) Put(ctx context.Context, data []byte, options ...PutOption) (id string, err error) {
	p, err := q.prepare(data, options)
	if err != nil {
		return "", err
	}
	return p.id, q.store(ctx, &nats.Msg{
		Subject: q.subjectFirst(),
		Data:    data,
		Header:  nats.Header{headerMsgID: {p.id}},
	})
}

// PutAt is Put for a job that is not to be attempted before the given time. The server keeps it, and gives it out up
// to about a quarter of a second late.
func (q *Queue) PutAt(ctx context.Context, at time.Time, data []byte, options ...PutOption) (id string, err error) {
	now := time.Now()
	if !at.After(now) {
		return q.Put(ctx, data, options...)
	}
	p, err := q.prepare(data, options)
	if err != nil {
		return "", err
	}
	if year := at.UTC().Year(); year > 9999 {
		return "", fmt.Errorf("durable: put: the time is in the year %d, want at most 9999", year)
	}
	m := q.message(&state{id: p.id, put: now, due: at}, data)
	m.Header[headerMsgID] = []string{p.id}
	return p.id, q.store(ctx, m)
}

func (q *Queue) prepare(data []byte, options []PutOption) (put, error) {
	var p put
	for i, o := range options {
		if o == nil {
			return p, fmt.Errorf("durable: put: options[%d] is nil", i)
		}
		o(&p)
	}
	if p.id == "" {
		p.id = nuid.Next()
	}
	if len(p.id) > maxID {
		return p, fmt.Errorf("durable: put: the id has %d bytes, want at most %d: %.40q…", len(p.id), maxID, p.id)
	}
	if !plain(p.id) && (!utf8.ValidString(p.id) || strings.TrimSpace(p.id) != p.id || strings.ContainsFunc(p.id, unicode.IsControl)) {
		return p, fmt.Errorf("durable: put: the id is %q, want UTF-8 without control characters, and without spaces at its ends", p.id)
	}
	limit := q.maxPayload()
	if len(data) > limit {
		return p, &failure{"put", ErrTooLarge, fmt.Errorf("%d bytes, the limit is %d", len(data), limit),
			"raise Config.MaxPayload and the server's max_payload, or store the data elsewhere and put a reference"}
	}
	return p, nil
}

func (q *Queue) maxPayload() int {
	most := max(int(q.nc.MaxPayload())-headerRoom, 0)
	if q.config.MaxPayload > 0 {
		most = min(most, q.config.MaxPayload)
	}
	return most
}

// message returns the message that gives the job out at its due time: a schedule, if the server has them.
func (q *Queue) message(s *state, data []byte) *nats.Msg {
	m := &nats.Msg{Subject: q.subjectAgain(s.id), Header: s.header(), Data: data}
	if q.schedules && !s.due.IsZero() {
		m.Header[headerSchedule] = []string{"@at " + formatTime(s.due)}
		m.Header[headerScheduleTarget] = []string{m.Subject}
		m.Subject = q.subjectLater(s.id)
	}
	return m
}

// store publishes m until the server has answered for it.
func (q *Queue) store(ctx context.Context, m *nats.Msg) error {
	if q.isClosed() {
		return &failure{"put", ErrClosed, nil, ""}
	}
	if q.nc.IsClosed() {
		return explain("put", nats.ErrConnectionClosed)
	}
	began, before := time.Now(), q.nc.LastError()
	ack, err := q.publish(ctx, m, firstWait)
	if err != nil && ctx.Err() == nil && passing(err) && !isFull(err) {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, began.Add(putPatience))
			defer cancel()
		}
		policy := patience.With(retry.If(func(err error) bool { return passing(err) && !isFull(err) }))
		ack, err = retry.Do(ctx, policy, func(ctx context.Context) (*jetstream.PubAck, error) { return q.publish(ctx, m, laterWait) })
	}
	if err != nil {
		return q.notStored(ctx, err, before, time.Since(began))
	}
	q.counts.put.Add(1)
	if ack.Duplicate {
		q.counts.duplicates.Add(1)
	}
	return nil
}

// notStored says what it means that Put has failed with err after a while. before is the connection's error before it.
func (q *Queue) notStored(ctx context.Context, err, before error, after time.Duration) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	help, kind := meaning(err)
	switch {
	case kind == ErrClosed: // while an answer was awaited
		return &failure{"put", ErrNotStored, fmt.Errorf("%w: %w", ErrClosed, err), "put it again with the same id"}
	case kind != nil && kind != ErrUnreachable:
		return &failure{"put", kind, err, help}
	}
	if denied := q.denied(before); denied != nil {
		return explain("put", denied)
	}
	if ctx.Err() == nil && !passing(err) {
		return explain("put", err)
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if _, gone := q.js.Stream(ctx, q.config.jobsName()); errors.Is(gone, jetstream.ErrStreamNotFound) {
			return explain("put", gone)
		}
	}
	if !q.nc.IsConnected() || after < firstWait {
		return &failure{"put", ErrNotStored, err, "put it again with the same id"}
	}
	// A server whose disk is full does not answer at all. One that is embedded tells why.
	if s, ok := q.config.Server.(interface{ Err() error }); ok && s.Err() != nil {
		err = fmt.Errorf("%w: %w", s.Err(), err)
		if strings.Contains(err.Error(), "no space left") {
			return &failure{"put", ErrFull, fmt.Errorf("%w: %w", ErrNotStored, err),
				"make room on its disk and start the server again; then put it again with the same id"}
		}
	}
	return &failure{"put", ErrNotStored, err,
		"the server is there, but does not store: its log says why, its disk may be full; then put it again with the same id"}
}

func isFull(err error) bool {
	_, kind := meaning(err)
	return kind == ErrFull
}

// denied returns what the server has said since, by the way, if it refuses what is published: the answer that is waited
// for never comes then. before is the connection's last error until then.
func (q *Queue) denied(before error) error {
	if err := q.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && err != before {
		return err
	}
	return nil
}

// publish publishes m once.
func (q *Queue) publish(ctx context.Context, m *nats.Msg, wait time.Duration) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return q.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
}
