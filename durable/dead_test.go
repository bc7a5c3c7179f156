package durable

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var errNo = errors.New("no")

// letter returns a dead letter with an id.
func letter(q *Queue, id string, seq uint64, h nats.Header) *jetstream.RawStreamMsg {
	return &jetstream.RawStreamMsg{Subject: q.config.subject(id, dead), Sequence: seq, Header: h, Data: []byte("data of " + id)}
}

// revived is a message of a job that came after its dead letter.
func revived(q *Queue, id string, seq uint64) *jetstream.RawStreamMsg {
	return &jetstream.RawStreamMsg{Subject: q.config.subject(id, first), Sequence: seq}
}

// reads returns what was recorded since the last call without the reads of the last messages of jobs, and how many of
// those there were. They are made at once, in any order.
func reads(s *server) (did string, last int) {
	all := strings.Split(s.took(), "; ")
	n := len(all)
	all = slices.DeleteFunc(all, func(a string) bool { return a == "last *" })
	return strings.Join(all, "; "), n - len(all)
}

// Which dead letters there are, what is read for that, and when it ends.
func TestDead(t *testing.T) {
	cause := errors.New("cause")
	const all = "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead; get 10 dead; get 13 dead"
	for name, test := range map[string]struct {
		fails   string
		err     error
		last    uint64                                   // what the stream ended with before
		stored  func(q *Queue) []*jetstream.RawStreamMsg // default: four and others
		stop    int                                      // the consumer stops at this letter
		cancel  int                                      // ctx ends at this letter; negative: before
		want    string
		did     string
		looked  int  // at how many jobs
		removed bool // nothing is left of the jobs
		end     error
	}{
		"all":                         {want: "a c d", did: all, looked: 4},
		"none":                        {stored: func(*Queue) []*jetstream.RawStreamMsg { return nil }, did: "info"},
		"the last message is one":     {stored: func(q *Queue) []*jetstream.RawStreamMsg { return []*jetstream.RawStreamMsg{letter(q, "a", 3, nil)} }, want: "a", did: "info; get 3 dead; get 4 dead", looked: 1},
		"the consumer stops":          {stop: 1, want: "a", did: all, looked: 4},
		"one that came meanwhile":     {last: 11, want: "a c", did: all[:len(all)-len("; get 13 dead")], looked: 3},
		"the stream cannot be read":   {fails: "info", err: errNo, did: "info", end: errNo},
		"one cannot be read":          {fails: "get 7 dead", err: errNo, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead", looked: 2, end: errNo},
		"the rest is gone":            {fails: "get 7 dead", err: jetstream.ErrMsgNotFound, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead; get 7 dead", looked: 2},
		"its job is gone":             {removed: true, did: all, looked: 4},
		"ctx has ended":               {cancel: -1, end: cause},
		"ctx ends":                    {cancel: 1, want: "a", did: all, looked: 4, end: cause},
		"ctx ends during the request": {fails: "get 5 dead", err: errNoResponse, want: "a", did: "info; get 3 dead; get 4 dead; get 5 dead", looked: 2, end: cause},
		"ctx ends at the beginning":   {fails: "info", err: errNoResponse, did: "info", end: cause},
		"many": {stored: func(q *Queue) (all []*jetstream.RawStreamMsg) {
			for i := range uint64(40) {
				all = append(all, letter(q, fmt.Sprint(i), i+1, nil))
			}
			return all
		}, want: strings.Trim(fmt.Sprint(slices.Collect(func(yield func(int) bool) {
			for i := range 40 {
				yield(i)
			}
		})), "[]"), did: "-", looked: 40},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{fails: map[string]error{test.fails: test.err}}
			q := fakeQueue(t, s, Config{})
			q.jobs = lastStream{fakeStream{s: s}, test.last}
			s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 3, nil), letter(q, "b", 4, nil), letter(q, "e", 6, nats.Header{headerDone: {"1"}}), revived(q, "b", 7),
				letter(q, "c", 9, nil), message(q, first, 10, nil), letter(q, "d", 12, nil), message(q, first, 13, nil)}
			if test.stored != nil {
				s.stored = test.stored(q)
			}
			if test.removed {
				s.last = func(string) (*jetstream.RawStreamMsg, error) { return nil, jetstream.ErrMsgNotFound }
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
			if got, looked := reads(s); test.did != "-" && got != test.did || looked != test.looked {
				t.Errorf("it did %q, and looked at %d jobs, want %q, %d", got, looked, test.did, test.looked)
			}
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
	s, q := fake(t, Config{})
	put, failed, died := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 3, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 4, 3, 4, 5, 6, time.UTC)
	st := state{put: put, kind: "k", lastError: "no", user: nats.Header{"A": {"b"}}, retry: failures(3, failed)}
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

// Revive stores the job, and removes the dead letter then.
func TestRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fakeOnline(t, Config{})
		old := state{put: time.Now(), kind: "k", lastError: "no", user: nats.Header{"A": {"b"}}, retry: failures(3, time.Now())}
		s.last = func(subject string) (*jetstream.RawStreamMsg, error) {
			if subject != "retrywhen.q.job.x.*" {
				t.Errorf("it reads %s", subject)
			}
			return letter(q, "x", 9, old.header()), nil
		}
		time.Sleep(time.Hour)
		must(t, q.Revive(t.Context(), "x"))
		if got := outcomesOf(s); got != "last *; put first; delete 9" || q.counts.put.Load() != 1 {
			t.Errorf("it did %q, and put %d", got, q.counts.put.Load())
		}
		m := s.lastSent()
		want := nats.Header{"A": {"b"}, headerKind: {"k"}, headerPut: {formatTime(time.Now())}, headerRevived: {"1"}, headerLastSequence: {"9"},
			headerLastSubject: {"retrywhen.q.job.x.*"}}
		if string(m.Data) != "data of x" || !reflect.DeepEqual(m.Header, want) {
			t.Errorf("it stored %q, %v, want %v", m.Data, m.Header, want)
		}
	})
}

// Without the permission to delete messages Revive revives too. It finds that out once, at once.
func TestRevive_MayNotDelete(t *testing.T) {
	s := &server{fails: map[string]error{"delete 9": errNoResponse}}
	q := online(t, s, Config{})
	q.jobs = forbiddingStream{fakeStream{s: s}, q.nc, "retrywhen-q"}
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return letter(q, "x", 9, nil), nil }
	for i, want := range []string{"delete 9; log: messages cannot be deleted, the user lacks the permission: Stats counts the dead letters of revived jobs until the jobs have ended, and what was cancelled or forgotten comes back if the server is killed", ""} {
		must(t, q.Revive(t.Context(), "x"))
		if got := outcomesOf(s); strings.TrimSuffix("last *; put first; "+want, "; ") != got {
			t.Errorf("call %d did %q", i+1, got)
		}
	}
}

// When ask returns, the context of its request has ended.
func TestAsk_EndsItsContext(t *testing.T) {
	q := fakeQueue(t, new(server), Config{})
	q.nc = connected(t, new(server))
	var of context.Context
	if err := q.ask(t.Context(), "", func(ctx context.Context) error { of = ctx; return nil }); err != nil || of.Err() == nil {
		t.Errorf("got %v, and the context has %v", err, of.Err())
	}
}

// A refusal is found also if the request was sent late.
func TestAsk_LateRefusal(t *testing.T) {
	_, q := fakeOnline(t, Config{})
	err := q.ask(t.Context(), "STREAM.MSG.DELETE.q", func(ctx context.Context) error {
		time.Sleep(3 * askWait)
		q.nc.Publish("forbidden.STREAM.MSG.DELETE.q", nil)
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("got %v", err)
	}
}

// Errors of Revive, and what it does after a publication without a response.
func TestRevive_Fails(t *testing.T) {
	for name, test := range map[string]struct {
		last    error   // of reading the dead letter
		none    bool    // there is none
		publish []error // of each publication
		revived bool    // the job was revived before
		fails   string
		ours    bool // the job's last message is that of the first publication
		closed  bool // the queue is closed after a second
		did     string
		want    error
		text    string
		after   time.Duration // 0: not looked at
	}{
		"it cannot be read":      {last: errNo, did: "last *", want: errNo, text: `durable: revive: job "x": no`},
		"there is none":          {none: true, did: "last *", want: ErrNotFound, text: `durable: revive: job "x": not found`},
		"it was revived":         {revived: true, did: "last *", want: ErrNotFound, text: `durable: revive: job "x": not found`},
		"it cannot be deleted":   {fails: "delete 9", did: "last *; put first; delete 9"},
		"others were faster":     {publish: []error{refused}, did: "last *; put first", want: ErrNotFound, text: `durable: revive: job "x": not found`},
		"the server refuses":     {publish: []error{nats.ErrPermissionViolation}, did: "last *; put first", want: ErrRefused, text: `durable: revive: job "x": the server refused`},
		"it was stored":          {publish: []error{errNoResponse, refused}, ours: true, did: "last *; put first; put first; last *; delete 9"},
		"another one was stored": {publish: []error{errNoResponse, refused}, did: "last *; put first; put first; last *", want: ErrNotFound},
		"no response":            {publish: []error{errNoResponse, errNoResponse, errNoResponse, errNoResponse, errNoResponse}, want: ErrNotStored, after: putTimeout},
		"the queue is closed":    {publish: []error{errNoResponse, errNoResponse, errNoResponse}, closed: true, want: ErrClosed, after: 3 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{fails: map[string]error{test.fails: errNo}}
			q := online(t, s, Config{})
			s.publish = inTurn(test.publish...)
			s.last = func(subject string) (*jetstream.RawStreamMsg, error) {
				switch {
				case test.revived:
					return revived(q, "x", 10), nil
				case len(s.sent) > 0 && test.ours:
					return message(q, first, 55, nats.Header{headerPut: s.lastSent().Header[headerPut]}), nil
				case len(s.sent) > 0:
					return message(q, first, 55, nats.Header{headerPut: {formatTime(time.Now().Add(time.Second))}}), nil
				case test.none:
					return nil, jetstream.ErrMsgNotFound
				}
				return letter(q, "x", 9, nil), test.last
			}
			if test.closed {
				time.AfterFunc(3*time.Second, func() { q.cancel(ErrClosed) })
			}
			began := time.Now()
			err := q.Revive(t.Context(), "x")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %v, %s", err, test.want, test.text)
			}
			if got := outcomesOf(s); test.after == 0 && got != test.did {
				t.Errorf("it did %q, want %q", got, test.did)
			}
			if got := time.Since(began); test.after != 0 && got != test.after {
				t.Errorf("it took %v, want %v", got, test.after)
			}
			if got := q.counts.put.Load(); (got == 1) != (err == nil) {
				t.Errorf("it counts %d", got)
			}
		})
	}
}

// ReviveAll skips what others have revived, and stops after the first error. It revives several at a time, so at an
// error others may have been revived or not.
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
		"none is kept":       {keep: func(*DeadLetter) bool { return false }},
		"others were faster": {publish: []error{nil, refused}, want: 2, put: "a b c"},
		"all fail":           {publish: []error{errNo, errNo, errNo}, end: errNo},
		"reading fails":      {fails: "get 3 dead", end: errNo},
		"there is no stream": {fails: "info", end: errNo},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{fails: map[string]error{test.fails: errNo}}
			q := online(t, s, Config{})
			s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 2, nil), letter(q, "b", 3, nil), letter(q, "c", 4, nil)}
			s.publish = inTurn(test.publish...)
			got, err := q.ReviveAll(t.Context(), test.keep)
			if !errors.Is(err, test.end) || (err == nil) != (test.end == nil) || test.end == nil && got != test.want || got > 2 && test.end != nil {
				t.Errorf("got %d, %v, want %d, %v", got, err, test.want, test.end)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "durable: revive: ") && !strings.HasPrefix(err.Error(), "durable: dead: ") {
				t.Errorf("got %v", err)
			}
			var ids []string
			for _, m := range s.sent {
				id, _, _ := q.config.parseSubject(m.Subject)
				ids = append(ids, id)
			}
			slices.Sort(ids)
			if put := strings.Join(ids, " "); test.end == nil && put != test.put {
				t.Errorf("it put %s, want %s", put, test.put)
			}
		})
	}
}

// Without the permission, no further deletion is sent.
func TestReviveAll_MayNotDelete(t *testing.T) {
	s := &server{fails: make(map[string]error)}
	q := online(t, s, Config{})
	q.jobs = forbiddingStream{fakeStream{s: s}, q.nc, "retrywhen-q"}
	for i := range 600 {
		s.stored = append(s.stored, letter(q, fmt.Sprint(i), uint64(i+1), nil))
		s.fails[fmt.Sprintf("delete %d", i+1)] = errNoResponse
	}
	if n, err := q.ReviveAll(t.Context(), nil); n != 600 || err != nil {
		t.Errorf("revived %d, %v", n, err)
	}
	q.nc.Flush()
	did := s.took()
	if n := strings.Count(did, "delete "); n == 0 || n > lettersAtOnce || strings.Count(did, "PUB") != n || strings.Count(did, "log: ") != 1 {
		t.Errorf("it did %s", did)
	}
}

// forbiddingStream is a stream whose messages the user may not delete.
type forbiddingStream struct {
	fakeStream
	nc   *nats.Conn
	name string
}

func (f forbiddingStream) DeleteMsg(ctx context.Context, seq uint64) error {
	f.nc.Publish("forbidden.STREAM.MSG.DELETE."+f.name, nil)
	return f.fakeStream.DeleteMsg(ctx, seq)
}

// A refusal of another request is not taken for that of the own one.
func TestAsk_AnotherRefusal(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	q.jobs = forbiddingStream{fakeStream{s: s}, q.nc, "another"}
	err := q.ask(t.Context(), "STREAM.MSG.DELETE.retrywhen-q", func(ctx context.Context) error {
		err := q.jobs.DeleteMsg(ctx, 9)
		time.Sleep(2 * askWait)
		return err
	})
	if !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) || q.nc.LastError() == nil {
		t.Errorf("got %v, after %v", err, q.nc.LastError())
	}
}

// The end of ctx ends ReviveAll with its error.
func TestReviveAll_EndedContext(t *testing.T) {
	s, q := fake(t, Config{})
	s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 2, nil), letter(q, "b", 3, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	n, err := q.ReviveAll(ctx, func(*DeadLetter) bool { cancel(); return false })
	if n != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %d, %v", n, err)
	}
}

// A panic of keep reaches the caller.
func TestReviveAll_KeepPanics(t *testing.T) {
	s, q := fake(t, Config{})
	s.stored = []*jetstream.RawStreamMsg{letter(q, "a", 2, nil)}
	panics(t, "no", func() { q.ReviveAll(t.Context(), func(*DeadLetter) bool { panic("no") }) })
}

// Without a response, nobody knows whether there is a letter.
func TestForget_NoResponse(t *testing.T) {
	q := fakeQueue(t, &server{last: func(string) (*jetstream.RawStreamMsg, error) { return nil, nats.ErrTimeout }}, Config{})
	if err := q.Forget(t.Context(), "x"); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

func TestForget(t *testing.T) {
	done := nats.Header{headerDone: {"1"}}
	q := fakeQueue(t, new(server), Config{}) // for the subjects of messages
	all := func(m ...*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg { return m }
	none := `durable: forget: job "x": not found`
	for name, test := range map[string]struct {
		stored []*jetstream.RawStreamMsg // default: the letter
		fails  string
		err    error
		put    error
		then   []*jetstream.RawStreamMsg // what is stored when the mark is refused
		did    string
		want   error
		text   string
	}{
		"forgotten":      {did: "last *; put mark; get 1 *; delete 9; get 10 *"},
		"there is none":  {stored: []*jetstream.RawStreamMsg{}, did: "last *", want: ErrNotFound, text: none},
		"it was revived": {stored: all(letter(q, "x", 9, nil), revived(q, "x", 10)), did: "last *", want: ErrNotFound, text: none},
		"others were faster, and have marked it only": {put: refused, then: all(letter(q, "x", 9, nil), message(q, mark, 10, done)), did: "last *; put mark; last *; get 1 *; delete 9; get 10 *; get 11 *"},
		"others were faster, and have deleted it":     {put: refused, then: all(message(q, mark, 10, done)), did: "last *; put mark; last *; get 1 *; get 11 *", want: ErrNotFound, text: none},
		"others have revived it":                      {put: refused, then: all(letter(q, "x", 9, nil), revived(q, "x", 10)), did: "last *; put mark; last *", want: ErrNotFound, text: none},
		"it always moves on":                          {put: refused, did: strings.Repeat("last *; put mark; ", 9) + "last *; put mark", want: errMoved, text: `durable: forget: job "x": the job has moved on`},
		"it is gone":                                  {fails: "delete 9", err: jetstream.ErrMsgDeleteUnsuccessful, did: "last *; put mark; get 1 *; delete 9; get 10 *"},
		"the mark fails":                              {put: nats.ErrPermissionViolation, did: "last *; put mark", want: ErrRefused, text: `durable: forget: job "x": the server refused`},
		"it cannot be deleted":                        {fails: "delete 9", err: errNo, did: "last *; put mark; get 1 *; delete 9", want: errNo, text: `durable: forget: job "x": `},
		"it may not be deleted": {fails: "delete 9", err: nats.ErrPermissionViolation, did: "last *; put mark; get 1 *; delete 9; log: messages cannot be deleted, " +
			"the user lacks the permission: Stats counts the dead letters of revived jobs until the jobs have ended, and what was cancelled or forgotten comes back if the server is killed; put dead; get 10 *"},
		"it was marked before": {stored: all(letter(q, "x", 9, nil), message(q, mark, 10, done)), did: "last *; get 1 *; delete 9; get 10 *; get 11 *"},
		"it was marked and deleted before": {stored: all(message(q, mark, 10, done)),
			did: "last *; get 1 *; get 11 *", want: ErrNotFound, text: none},
		"it was revived and done": {stored: all(letter(q, "x", 9, done)),
			did: "last *; get 1 *; get 10 *", want: ErrNotFound, text: none},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{fails: map[string]error{test.fails: test.err}}
			q := fakeQueue(t, s, Config{Remember: time.Hour})
			s.publish = func(*nats.Msg) error {
				if test.then != nil {
					s.stored = slices.Clone(test.then)
				}
				return test.put
			}
			put := time.Now()
			s.stored = []*jetstream.RawStreamMsg{letter(q, "x", 9, nats.Header{headerPut: {formatTime(put)}})}
			if test.stored != nil {
				s.stored = slices.Clone(test.stored)
			}
			err := q.Forget(t.Context(), "x")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %v, %s", err, test.want, test.text)
			}
			s.did(t, test.did)
			if !strings.Contains(test.did, "put") {
				return
			}
			if h := s.sent[0].Header; get(h, headerDone) == "" || get(h, headerPut) != formatTime(put) || get(h, headerLastSequence) != "9" || get(h, headerTTL) != "3600s" {
				t.Errorf("the mark is %v", h)
			}
		})
	}
}

// The oldest dead letters are removed if there are too many. It is checked once per second.
func TestBoundDead(t *testing.T) {
	const tooMany = "; log: the oldest dead letters are removed, Config.MaxDead is reached; removed %d; purge retrywhen.q.job.*.dead, keep 5"
	for name, test := range map[string]struct {
		n     uint64
		fails string
		want  string
	}{
		"too many":               {n: 6, want: "consumer count-dead" + fmt.Sprintf(tooMany, 1)},
		"as many as allowed":     {n: 5, want: "consumer count-dead"},
		"they cannot be counted": {fails: "consumer count-dead", want: "consumer count-dead; log: the number of dead letters could not be bounded"},
		"they cannot be removed": {n: 9, fails: "purge retrywhen.q.job.*.dead, keep 5",
			want: "consumer count-dead" + fmt.Sprintf(tooMany, 4) + "; log: the number of dead letters could not be bounded"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{pending: map[string]uint64{"count-dead": test.n}, fails: map[string]error{test.fails: errNo}}
			q := fakeQueue(t, s, Config{MaxDead: 5})
			for _, c := range []struct {
				after time.Duration
				want  string
			}{{0, test.want}, {0, ""}, {time.Second - 1, ""}, {1, test.want}, {time.Second - 1, ""}, {time.Hour, test.want}} {
				time.Sleep(c.after)
				q.bound.check(t.Context())
				s.did(t, c.want)
			}
		})
	}
}
