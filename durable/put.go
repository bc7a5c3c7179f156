package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/retrywhen/retrywhen/retry"
)

// PutOption is an option of Put.
type PutOption func(*put)

type put struct {
	id     string
	named  bool
	kind   string
	header nats.Header
	err    error
}

// PutID sets the id of the job: up to 256 bytes of UTF-8 without control characters, and without spaces at its ends.
// While the job waits, runs or is a dead letter, and for Config.Remember after it is done, another Put with the same id
// stores nothing and returns ErrExists. That holds across restarts of the server. Without PutID, or with an empty id,
// the job gets a unique id.
func PutID(id string) PutOption {
	return func(p *put) { p.id, p.named = id, true }
}

// PutHeader adds a header to the job, such as a trace context. It is in Job.Header of all attempts, and in the dead
// letter. All headers of a job together may have 2 KiB. A name is a word of letters, digits and !#$%&'*+-.^_`|~, as in
// HTTP. Status, Description and names that begin with Nats- or Retrywhen- are invalid. A value is one line of text
// without control characters, except tabs, and without blanks at its ends.
func PutHeader(name, value string) PutOption {
	return func(p *put) {
		switch {
		case name == "" || strings.Trim(name, headerLetters) != "" || reserved(name):
			p.err = fmt.Errorf("durable: put: the header's name is %q, want a word of letters, digits and !#$%%&'*+-.^_`|~, "+
				"not Status or Description, and not beginning with Nats- or Retrywhen-", name)
		case strings.Trim(value, " \t") != value || strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
			p.err = fmt.Errorf("durable: put: the header %s is %q, want one line without control characters, and without blanks at its ends", name, value)
		}
		if p.header == nil {
			p.header = make(nats.Header)
		}
		p.header[name] = append(p.header[name], value)
	}
}

// headerLetters are the characters of a header's name.
const headerLetters = "!#$%&'*+.^`|~" + plainLetters

// PutKind sets the kind of the job. Queue.Handle sets the handler and the policy for a kind. A kind is a word of 1 to
// 64 letters, digits, - or _.
func PutKind(kind string) PutOption {
	return func(p *put) {
		if !validName.MatchString(kind) {
			p.err = fmt.Errorf("durable: put: the kind is %q, want 1 to 64 letters, digits, - or _", kind)
		}
		p.kind = kind
	}
}

// Put stores a job, which is attempted as soon as a worker is free, and returns its id. It returns when the server, or
// with Replicas a majority of them, has stored the job. If an id of PutID is known already, Put stores nothing and
// returns the id and an error that matches ErrExists.
//
// While the server does not respond, Put tries again until ctx ends; if ctx has no deadline, for 15 s. The error then
// matches ErrNotStored: the job may have been stored or not. To find out, put it again with the same PutID. Other
// errors match ErrTooLarge, ErrFull, ErrRefused, ErrGone or ErrClosed, or are of an option or of the time; then nothing
// was stored. Put does not keep data.
//
// When Put tries again within Config.Remember, a job with an id of PutID is stored once, and so is one of PutAt that
// has to wait. Any other is stored a second time if it was done meanwhile, or if the first publication reaches the
// server after the second one.
func (q *Queue) Put(ctx context.Context, data []byte, options ...PutOption) (id string, err error) {
	return q.PutAt(ctx, time.Time{}, data, options...)
}

// PutAt is Put for a job that must not be attempted before the given time. The server keeps it until then, and delivers
// it up to about a quarter of a second late.
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
		q.config.schedule(p.id, m, at)
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
	if p.err != nil {
		return p, p.err
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

// put stores the first message of a job, if the id is free.
func (q *Queue) put(ctx context.Context, id string, m *nats.Msg) error {
	if q.isClosed() {
		return &failure{"put", ErrClosed, nil, ""}
	}
	if q.nc.IsClosed() {
		return explain("put", nats.ErrConnectionClosed)
	}
	r, put := q.request("put", "put it again with the same id"), get(m.Header, headerPut)
	switch err := r.make(ctx, step{id: id, m: m, unbuffered: true, fresh: put == "", ours: isOf(put)}, putPolicy); {
	case err == errMoved && put == "":
		// The id was generated here, so it is this job that has moved on: it was attempted before the second try.
	case err == errMoved:
		q.counts.duplicates.Add(1)
		return &failure{"put: job " + fmt.Sprintf("%q", id), ErrExists, nil, ""}
	case err != nil:
		return r.notStored(ctx, err)
	}
	q.counts.put.Add(1)
	return nil
}

// isOf returns a function that reports whether a message is the first one of the job that was put at the given time.
func isOf(put string) func(*jetstream.RawStreamMsg) bool {
	return func(m *jetstream.RawStreamMsg) bool { return get(m.Header, headerPut) == put }
}

// putPolicy is storePolicy, except that it gives up when the disk is full: the caller gets the error.
var putPolicy = storePolicy.With(retry.If(func(err error) bool { return transient(err) && !means(err, ErrFull) }))

// NewJob holds the arguments of Put, or of PutAt if At is not zero, for one of the jobs of PutAll.
type NewJob struct {
	Data    []byte
	At      time.Time
	Options []PutOption
}

// PutResult holds the results of Put for one of the jobs of PutAll.
type PutResult struct {
	ID  string
	Err error
}

// putsAtOnce is how many Puts of a PutAll wait for the server at a time.
const putsAtOnce = 64

// PutAll puts jobs concurrently and returns one result per job, in the order of jobs. The jobs may be stored in another
// order. Each is stored or not, independently of the others; but when one has used up the time of Put, those that have
// not begun are not sent, and their errors match ErrNotStored.
func (q *Queue) PutAll(ctx context.Context, jobs []NewJob) []PutResult {
	results := make([]PutResult, len(jobs))
	var all sync.WaitGroup
	var away atomic.Bool
	var next atomic.Int64
	for range min(putsAtOnce, len(jobs)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				job, r := &jobs[i], &results[i]
				if !away.Load() {
					r.ID, r.Err = q.PutAt(ctx, job.At, job.Data, job.Options...)
					away.CompareAndSwap(false, errors.Is(r.Err, ErrNotStored))
					continue
				}
				p, err := q.prepare(job.Data, job.Options)
				if r.Err = err; err == nil {
					r.ID, r.Err = p.id, &failure{"put", ErrNotStored, nil, "it was not sent, because another job of PutAll was not stored in time"}
				}
			}
		})
	}
	all.Wait()
	return results
}
