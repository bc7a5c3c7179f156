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
	"github.com/retrywhen/retrywhen/retry"
)

// PutOption is one setting of a Put.
type PutOption func(*put)

type put struct {
	id     string
	named  bool
	kind   string
	header nats.Header
	wrong  error
}

// PutID gives the job an id: up to 256 bytes of text without control characters, and without spaces at its ends. The id
// is the job's alone: while the job waits, runs or is a dead letter, and for Config.Remember after it is done, another
// Put with it stores nothing and returns ErrExists. That holds over restarts of the server. Without PutID the job gets
// an id that no other has.
func PutID(id string) PutOption {
	return func(p *put) { p.id, p.named = id, true }
}

// PutHeader gives the job a header, which all its attempts see in Job.Header, and its dead letter has too: a trace
// context, say. All headers of a job together may have 2 KiB. Names that begin with Nats- or Retrywhen- are refused.
func PutHeader(name, value string) PutOption {
	return func(p *put) {
		switch {
		case name == "" || strings.ContainsAny(name, ": \r\n\t") || reserved(name):
			p.wrong = fmt.Errorf("durable: put: the header's name is %q, want a word that does not begin with Nats- or Retrywhen-", name)
		case strings.ContainsAny(value, "\r\n"):
			p.wrong = fmt.Errorf("durable: put: the header %s is %q, want one line", name, value)
		}
		if p.header == nil {
			p.header = make(nats.Header)
		}
		p.header[name] = append(p.header[name], value)
	}
}

// PutKind says of which kind the job is: Queue.Handle sets what to do with jobs of a kind. A kind is a word of up to 64
// letters, digits, - and _.
func PutKind(kind string) PutOption {
	return func(p *put) {
		if !validName.MatchString(kind) {
			p.wrong = fmt.Errorf("durable: put: the kind is %q, want 1 to 64 letters, digits, - or _", kind)
		}
		p.kind = kind
	}
}

// putPatience bounds Put under a context without a deadline.
const putPatience = 15 * time.Second

// Put stores a job, to be attempted as soon as a worker is free, and returns its id. It returns once the server (with
// Replicas, most of them) has it. An id of PutID that is known already makes it return ErrExists, with the id, and
// store nothing. While the server does not answer Put tries again until ctx ends, or without a deadline in ctx for 15
// s; the error then matches ErrNotStored: the job may have been stored or not, and to put it again with the same PutID
// finds out. Other errors match ErrTooLarge, ErrFull, ErrRefused, ErrGone or ErrClosed, and nothing was stored. data is
// not kept.
func (q *Queue) Put(ctx context.Context, data []byte, options ...PutOption) (id string, err error) {
	return q.PutAt(ctx, time.Time{}, data, options...)
}

// PutAt is Put for a job that is not to be attempted before the given time. The server keeps it, and gives it out up
// to about a quarter of a second late.
func (q *Queue) PutAt(ctx context.Context, at time.Time, data []byte, options ...PutOption) (id string, err error) {
	p, err := q.prepare(data, options)
	if err != nil {
		return "", err
	}
	if year := at.UTC().Year(); year > 9999 {
		return "", fmt.Errorf("durable: put: the time is in the year %d, want at most 9999", year)
	}
	now, s := time.Now(), state{user: p.header, kind: p.kind}
	if p.named {
		s.put = now
	}
	m := &nats.Msg{Subject: q.config.subject(p.id, first), Data: data}
	if at.After(now) {
		s.put, s.due = now, at
		m.Header = s.header()
		q.schedule(p.id, m, at)
	} else {
		m.Header = s.header()
	}
	return p.id, q.put(ctx, p.id, m)
}

func (q *Queue) prepare(data []byte, options []PutOption) (put, error) {
	var p put
	for i, o := range options {
		if o == nil {
			return p, fmt.Errorf("durable: put: options[%d] is nil", i)
		}
		o(&p)
	}
	if p.wrong != nil {
		return p, p.wrong
	}
	if size := headerSize(p.header); size > userRoom {
		return p, fmt.Errorf("durable: put: the headers have %d bytes, want at most %d", size, userRoom)
	}
	if p.id == "" {
		p.id, p.named = nuid.Next(), false
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

func headerSize(h nats.Header) (n int) {
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}

func (q *Queue) maxPayload() int {
	most := max(int(q.nc.MaxPayload())-headerRoom, 0)
	if q.config.MaxPayload > 0 {
		most = min(most, q.config.MaxPayload)
	}
	return most
}

// farthest is the last time that is a schedule: the server counts nanoseconds in 64 bits.
var farthest = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// schedule has the server keep the message until the time, and then publish it as again.
func (q *Queue) schedule(id string, m *nats.Msg, at time.Time) {
	if at.After(farthest) {
		at = farthest
	}
	m.Subject = q.config.subject(id, later)
	m.Header[headerSchedule] = []string{"@at " + formatTime(at)}
	m.Header[headerScheduleTarget] = []string{q.config.subject(id, again)}
}

// put stores the first message of a job, if the id is free.
func (q *Queue) put(ctx context.Context, id string, m *nats.Msg) error {
	if q.isClosed() {
		return &failure{"put", ErrClosed, nil, ""}
	}
	if q.nc.IsClosed() {
		return explain("put", nats.ErrConnectionClosed)
	}
	began, before, put := time.Now(), q.nc.LastError(), get(m.Header, headerPut)
	s := step{id: id, m: m, ours: func(m *jetstream.RawStreamMsg) bool { return get(m.Header, headerPut) == put }}
	s.within = func(ctx context.Context) (context.Context, context.CancelFunc) { return q.patiently(ctx, began) }
	_, err := q.store(ctx, s, putPolicy)
	switch {
	case errors.Is(err, errMoved) && put == "":
		// The id is new: it is this job that is there.
	case errors.Is(err, errMoved):
		q.counts.duplicates.Add(1)
		return &failure{"put: job " + fmt.Sprintf("%q", id), ErrExists, nil, ""}
	case err != nil:
		return q.notStored(ctx, err, before, time.Since(began))
	}
	q.counts.put.Add(1)
	return nil
}

// putPolicy is patience that leaves a full disk to the caller.
var putPolicy = patience.With(retry.If(func(err error) bool { return passing(err) && !isFull(err) }))

// patiently bounds tries that began at a time: by the queue's end, and by putPatience if ctx has no deadline.
func (q *Queue) patiently(ctx context.Context, began time.Time) (context.Context, context.CancelFunc) {
	release := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, release = context.WithDeadline(ctx, began.Add(putPatience))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(q.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil); release() }
}

// notStored says what it means that Put has failed with err after a while. before is the connection's error before it.
func (q *Queue) notStored(ctx context.Context, err, before error, after time.Duration) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	help, kind := meaning(err)
	switch {
	case kind == ErrClosed || errors.Is(err, ErrClosed): // while an answer was awaited
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
		if _, gone := q.js.Stream(ctx, q.config.streamName()); errors.Is(gone, jetstream.ErrStreamNotFound) {
			return explain("put", gone)
		}
	}
	if !q.nc.IsConnected() || after < firstWait {
		return &failure{"put", ErrNotStored, err, "put it again with the same id"}
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
