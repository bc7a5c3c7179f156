package durable

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

var errNo = errors.New("no")

// letter returns a dead letter with an id.
func letter(q *Queue, id string, seq uint64, h nats.Header) *jetstream.RawStreamMsg {
	return &jetstream.RawStreamMsg{Subject: q.config.subject(id, dead), Sequence: seq, Header: h, Data: []byte("data of " + id)}
}

// gone is the header of the message that replaces a revived dead letter.
var gone = nats.Header{headerGone: {"1"}}

// Which dead letters there are, what is read for that, and when it ends.
func TestDead(t *testing.T) {
	cause := errors.New("cause")
	const all = "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead; get 10 dead"
	for name, test := range map[string]struct {
		fails  string
		err    error
		last   uint64                                   // what the stream ended with before
		stored func(q *Queue) []*jetstream.RawStreamMsg // default: four and others
		stop   int                                      // the consumer stops at this letter
		cancel int                                      // ctx ends at this letter; negative: before
		want   string
		did    string
		end    error
	}{
		"all":                         {want: "a c d", did: all + "; get 13 dead"},
		"none":                        {stored: func(*Queue) []*jetstream.RawStreamMsg { return nil }, did: "info"},
		"the last message is one":     {stored: func(q *Queue) []*jetstream.RawStreamMsg { return []*jetstream.RawStreamMsg{letter(q, "a", 3, nil)} }, want: "a", did: "info; get 3 dead"},
		"the consumer stops":          {stop: 1, want: "a", did: "info; get 3 dead"},
		"one that came meanwhile":     {last: 11, want: "a c", did: all},
		"the stream cannot be read":   {fails: "info", err: errNo, did: "info", end: errNo},
		"one cannot be read":          {fails: "get 7 dead", err: errNo, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead", end: errNo},
		"the rest is gone":            {fails: "get 7 dead", err: jetstream.ErrMsgNotFound, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead"},
		"ctx has ended":               {cancel: -1, end: cause},
		"ctx ends":                    {cancel: 1, want: "a", did: "info; get 3 dead", end: cause},
		"ctx ends during the request": {fails: "get 5 dead", err: errNoResponse, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead", end: cause},
		"ctx ends at the beginning":   {fails: "info", err: errNoResponse, did: "info", end: cause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{fails: map[string]error{test.fails: test.err}}
				q := fakeQueue(t, s, Config{})
				q.jobs = lastStream{fakeStream{s: s}, test.last}
				s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 3, nil), letter(q, "b", 4, gone), letter(q, "b", 6, gone), message(q, first, 7, nil),
					letter(q, "c", 9, nil), message(q, first, 10, nil), letter(q, "d", 12, nil), message(q, first, 13, nil)}
				if test.stored != nil {
					s.stored = test.stored(q)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.cancel < 0 {
					cancel(cause)
				}
				if test.err == errNoResponse {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				var got []string
				err := q.Dead()(ctx, func(l *DeadLetter) bool {
					got = append(got, l.ID)
					if len(got) == test.cancel {
						cancel(cause)
					}
					return len(got) != test.stop
				})
				if strings.Join(got, " ") != test.want || !errors.Is(err, test.end) || (err == nil) != (test.end == nil) {
					t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.end)
				}
				if err != nil && test.end != cause && !strings.HasPrefix(err.Error(), "durable: dead: ") {
					t.Errorf("got %v", err)
				}
				if got := s.took(); got != test.did {
					t.Errorf("it did %q, want %q", got, test.did)
				}
			})
		})
	}
}

// lastStream has an Info of before further messages came, unless last is 0.
type lastStream struct {
	fakeStream
	last uint64
}

func (l lastStream) Info(ctx context.Context, o ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	info, err := l.fakeStream.Info(ctx, o...)
	if err == nil && l.last > 0 {
		info.State.LastSeq = l.last
	}
	return info, err
}

// What is read from the headers of a dead letter.
func TestDead_Fields(t *testing.T) {
	s := new(server)
	q := fakeQueue(t, s, Config{})
	put, failed, died := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 3, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 4, 3, 4, 5, 6, time.UTC)
	st := state{put: put, kind: "k", lastError: "no", user: nats.Header{"A": {"b"}}, retry: retry.State{Attempts: 3, First: failed}}
	h := st.header()
	h[headerCause], h[headerDied] = []string{"permanent"}, []string{formatTime(died)}
	s.stored = []*jetstream.RawStreamMsg{letter(q, "ä b", 3, h)}
	got, err := q.Dead().Collect(t.Context())
	want := &DeadLetter{ID: "ä b", Data: []byte("data of ä b"), Kind: "k", Header: nats.Header{"A": {"b"}}, Err: "no", Cause: "permanent", Attempts: 3,
		Put: put, FirstFailure: failed, Died: died, seq: 3}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// Revive stores the job and removes the dead letter in one step.
func TestRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		q := fakeQueue(t, s, Config{})
		q.nc = connected(t, s)
		old := state{put: time.Now(), kind: "k", lastError: "no", user: nats.Header{"A": {"b"}}, retry: retry.State{Attempts: 3, First: time.Now()}}
		s.last = func(subject string) (*jetstream.RawStreamMsg, error) {
			if subject != "retrywhen.q.job.x.dead" {
				t.Errorf("it reads %s", subject)
			}
			return letter(q, "x", 9, old.header()), nil
		}
		time.Sleep(time.Hour)
		if err := q.Revive(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if got := outcomes(s); got != "last dead; put first; delete 100" || q.counts.put.Load() != 1 {
			t.Errorf("it did %q, and put %d", got, q.counts.put.Load())
		}
		m := s.lastSent()
		batch := get(m.Header, headerBatchID)
		want := nats.Header{"A": {"b"}, headerKind: {"k"}, headerPut: {formatTime(time.Now())}, headerLastSequence: {"9"}, headerLastSubject: {"retrywhen.q.job.x.*"},
			headerBatchID: {batch}, headerBatchSequence: {"2"}, headerBatchCommit: {"1"}}
		if string(m.Data) != "data of x" || batch == "" || !reflect.DeepEqual(m.Header, want) {
			t.Errorf("it stored %q, %v, want %v", m.Data, m.Header, want)
		}
	})
}

// The message that replaces the dead letter.
func TestRevive_Gone(t *testing.T) {
	s := new(server)
	q := fakeQueue(t, s, Config{})
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return letter(q, "x", 9, nil), nil }
	q.nc = connected(t, s)
	if err := q.Revive(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if err := q.flush(); err != nil {
		t.Error(err)
	}
	h := s.got.Load()
	if h == nil || h.Subject != "retrywhen.q.job.x.dead" || get(h.Header, headerGone) != "1" || get(h.Header, headerTTL) != "1s" || get(h.Header, headerBatchSequence) != "1" ||
		get(h.Header, headerBatchID) != get(s.lastSent().Header, headerBatchID) || len(h.Data) != 0 {
		t.Errorf("got %s, %v, %q", h.Subject, h.Header, h.Data)
	}
}

// Errors of Revive, and what it does after a publication without a response.
func TestRevive_Fails(t *testing.T) {
	for name, test := range map[string]struct {
		last    error // of reading the dead letter
		none    bool  // there is none
		header  nats.Header
		publish []error // of each publication
		ours    bool    // the job's last message is that of the first publication
		closed  bool    // the queue is closed after a second
		did     string
		want    error
		text    string
		after   time.Duration // 0: not looked at
	}{
		"it cannot be read":      {last: errNo, did: "last dead", want: errNo, text: `durable: revive: job "x": no`},
		"there is none":          {none: true, did: "last dead", want: ErrNotFound, text: `durable: revive: job "x": no such dead letter`},
		"it was revived":         {header: gone, did: "last dead", want: ErrNotFound, text: `durable: revive: job "x": no such dead letter`},
		"others were faster":     {publish: []error{refused}, did: "last dead; put first", want: ErrNotFound, text: `durable: revive: job "x": no such dead letter`},
		"the server refuses":     {publish: []error{nats.ErrPermissionViolation}, did: "last dead; put first", want: ErrRefused, text: `durable: revive: job "x": the server refused`},
		"it was stored":          {publish: []error{errNoResponse, refused}, ours: true, did: "last dead; put first; put first; last *; delete 54"},
		"another one was stored": {publish: []error{errNoResponse, refused}, did: "last dead; put first; put first; last *", want: ErrNotFound},
		"no response":            {publish: []error{errNoResponse, errNoResponse, errNoResponse, errNoResponse, errNoResponse}, want: ErrNotStored, after: putTimeout},
		"the queue is closed":    {publish: []error{errNoResponse, errNoResponse, errNoResponse}, closed: true, want: ErrClosed, after: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(server)
				q := fakeQueue(t, s, Config{})
				q.nc = connected(t, s)
				n := 0
				s.publish = func(*nats.Msg) error {
					if n++; n <= len(test.publish) {
						return test.publish[n-1]
					}
					return nil
				}
				s.last = func(subject string) (*jetstream.RawStreamMsg, error) {
					switch {
					case strings.HasSuffix(subject, "*") && test.ours:
						return message(q, first, 55, nats.Header{headerPut: s.lastSent().Header[headerPut]}), nil
					case strings.HasSuffix(subject, "*"):
						return message(q, first, 55, nats.Header{headerPut: {formatTime(time.Now().Add(time.Second))}}), nil
					case test.none:
						return nil, jetstream.ErrMsgNotFound
					}
					return letter(q, "x", 9, test.header), test.last
				}
				if test.closed {
					time.AfterFunc(3*time.Second, func() { q.cancel(ErrClosed) })
				}
				began := time.Now()
				err := q.Revive(t.Context(), "x")
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
					t.Errorf("got %v, want %v, %s", err, test.want, test.text)
				}
				if got := outcomes(s); test.after == 0 && got != test.did {
					t.Errorf("it did %q, want %q", got, test.did)
				}
				if got := time.Since(began); test.after != 0 && got != test.after {
					t.Errorf("it took %v, want %v", got, test.after)
				}
				if got := q.counts.put.Load(); (got == 1) != (err == nil) {
					t.Errorf("it counts %d", got)
				}
			})
		})
	}
}

// ReviveAll skips what others have revived, and stops at the first error.
func TestReviveAll(t *testing.T) {
	for name, test := range map[string]struct {
		keep    func(*DeadLetter) bool
		publish []error
		fails   string
		want    int
		end     error
		put     string // the ids
	}{
		"all":                {want: 3, put: "a b c"},
		"some":               {keep: func(l *DeadLetter) bool { return l.ID != "b" }, want: 2, put: "a c"},
		"others were faster": {publish: []error{nil, refused}, want: 2, put: "a b c"},
		"one fails":          {publish: []error{nil, errNo}, want: 1, end: errNo, put: "a b"},
		"reading fails":      {fails: "get 3 dead", want: 1, end: errNo, put: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{fails: map[string]error{test.fails: errNo}}
			q := fakeQueue(t, s, Config{})
			q.nc = connected(t, s)
			s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 2, nil), letter(q, "b", 3, nil), letter(q, "c", 4, nil)}
			n := 0
			s.publish = func(*nats.Msg) error {
				if n++; n <= len(test.publish) {
					return test.publish[n-1]
				}
				return nil
			}
			if got, err := q.ReviveAll(t.Context(), test.keep); got != test.want || !errors.Is(err, test.end) || (err == nil) != (test.end == nil) {
				t.Errorf("got %d, %v, want %d, %v", got, err, test.want, test.end)
			}
			var ids []string
			for _, m := range s.sent {
				id, _, _ := q.config.parseSubject(m.Subject)
				ids = append(ids, id)
			}
			if got := strings.Join(ids, " "); got != test.put {
				t.Errorf("it put %s, want %s", got, test.put)
			}
		})
	}
}

func TestForget(t *testing.T) {
	for name, test := range map[string]struct {
		header nats.Header
		delete error
		stays  bool
		did    string
		want   error
		text   string
	}{
		"forgotten":          {stays: true, did: "last dead; delete 9"},
		"it was revived":     {header: gone, did: "last dead", want: ErrNotFound, text: `durable: forget: job "x": no such dead letter`},
		"others were faster": {delete: errNo, did: "last dead; delete 9; get 9 >", want: ErrNotFound, text: `durable: forget: job "x": no such dead letter`},
		"the server refuses": {delete: nats.ErrPermissionViolation, stays: true, did: "last dead; delete 9; get 9 >", want: ErrRefused, text: `durable: forget: job "x": the server refused`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{fails: map[string]error{"delete 9": test.delete}}
			q := fakeQueue(t, s, Config{})
			s.last = func(string) (*jetstream.RawStreamMsg, error) { return letter(q, "x", 9, test.header), nil }
			if test.stays {
				s.stored = []*jetstream.RawStreamMsg{letter(q, "x", 9, nil)}
			}
			err := q.Forget(t.Context(), "x")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %v, %s", err, test.want, test.text)
			}
			if got := s.took(); got != test.did {
				t.Errorf("it did %q, want %q", got, test.did)
			}
		})
	}
}

// The oldest dead letters are removed if there are too many. It is checked once per second.
func TestBoundDead(t *testing.T) {
	const tooMany = "; log: the oldest dead letters are removed, Config.MaxDead is reached; purge retrywhen.q.job.*.dead, keep 5"
	for name, test := range map[string]struct {
		n     uint64
		fails string
		want  string
	}{
		"too many":               {n: 6, want: "consumer count-dead" + tooMany},
		"as many as allowed":     {n: 5, want: "consumer count-dead"},
		"they cannot be counted": {fails: "consumer count-dead", want: "consumer count-dead; log: the number of dead letters could not be bounded"},
		"they cannot be removed": {n: 9, fails: "purge retrywhen.q.job.*.dead, keep 5",
			want: "consumer count-dead" + tooMany + "; log: the number of dead letters could not be bounded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{pending: map[string]uint64{"count-dead": test.n}, fails: map[string]error{test.fails: errNo}}
				q := fakeQueue(t, s, Config{MaxDead: 5})
				for _, c := range []struct {
					after time.Duration
					want  string
				}{{0, test.want}, {0, ""}, {time.Second - 1, ""}, {1, test.want}, {time.Second - 1, ""}, {time.Hour, test.want}} {
					time.Sleep(c.after)
					q.boundDead(t.Context())
					if got := s.took(); got != c.want {
						t.Errorf("it did %q, want %q", got, c.want)
					}
				}
			})
		})
	}
}
