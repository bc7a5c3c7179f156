package durable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// online returns a queue with a connection, for messages of up to 1 MiB.
func online(t *testing.T, s *server, c Config) *Queue {
	t.Helper()
	q := fakeQueue(t, s, c)
	q.nc = connected(t, s)
	return q
}

// What Put refuses, and what is just allowed.
func TestPut_Arguments(t *testing.T) {
	header := func(n int) PutOption { return PutHeader("ab", strings.Repeat("x", n-6)) } // counts n bytes
	for name, test := range map[string]struct {
		options []PutOption
		data    int
		want    string // in the error, "" for none
	}{
		"nothing":                      {},
		"an id of the largest length":  {options: []PutOption{PutID(strings.Repeat("ä", 128))}},
		"a longer id":                  {options: []PutOption{PutID(strings.Repeat("x", 257))}, want: `the id has 257 bytes, want at most 256: "xxxxxxxxxx`},
		"an id with spaces":            {options: []PutOption{PutID("a b")}},
		"an id that ends with a space": {options: []PutOption{PutID("a ")}, want: `the id is "a "`},
		"an id with a control":         {options: []PutOption{PutID("a\x7f")}, want: `the id is "a\x7f"`},
		"an id that is no text":        {options: []PutOption{PutID("\xff")}, want: `the id is "\xff"`},
		"an option that is nil":        {options: []PutOption{PutID("x"), nil}, want: "options[1] is nil"},
		"a kind":                       {options: []PutOption{PutKind("a-B_9")}},
		"a kind of two words":          {options: []PutOption{PutKind("a b")}, want: `the kind is "a b"`},
		"a header without a name":      {options: []PutOption{PutHeader("", "x")}, want: `the header's name is ""`},
		"a header of two words":        {options: []PutOption{PutHeader("a b", "x")}, want: `the header's name is "a b"`},
		"a status":                     {options: []PutOption{PutHeader("Status", "400")}, want: `the header's name is "Status"`},
		"a description":                {options: []PutOption{PutHeader("description", "x")}, want: `the header's name is "description"`},
		"a header with an accent":      {options: []PutOption{PutHeader("é", "x")}, want: `the header's name is "é"`},
		"a header with parentheses":    {options: []PutOption{PutHeader("x(y)", "x")}, want: `the header's name is "x(y)"`},
		"a header with a zero":         {options: []PutOption{PutHeader("x\x00y", "x")}, want: `the header's name is "x\x00y"`},
		"a value that begins blank":    {options: []PutOption{PutHeader("a", " x")}, want: `the header a is " x"`},
		"a value that ends with a tab": {options: []PutOption{PutHeader("a", "x\t")}, want: `the header a is "x\t"`},
		"a value with a zero":          {options: []PutOption{PutHeader("a", "x\x00")}, want: `the header a is "x\x00"`},
		"a header of the server":       {options: []PutOption{PutHeader("nats-x", "x")}, want: `the header's name is "nats-x"`},
		"a header of this package":     {options: []PutOption{PutHeader("retrywhen-x", "x")}, want: `the header's name is "retrywhen-x"`},
		"a header of two lines":        {options: []PutOption{PutHeader("a", "x\ny")}, want: `the header a is "x\ny"`},
		"a first header of two lines":  {options: []PutOption{PutHeader("a", "x\ry"), PutHeader("b", "x")}, want: `the header a is "x\ry"`},
		"the largest headers":          {options: []PutOption{header(1024), header(1024)}},
		"larger headers":               {options: []PutOption{header(1024), header(1025)}, want: "the headers have 2049 bytes, want at most 2048"},
		"the largest data":             {data: 1<<20 - headerRoom},
		"larger data":                  {data: 1<<20 - headerRoom + 1, want: "too large: 1040385 bytes, the limit is 1040384: raise"},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fakeOnline(t, Config{})
			id, err := q.Put(t.Context(), make([]byte, test.data), test.options...)
			if test.want == "" {
				if err != nil || id == "" || q.counts.put.Load() != 1 || len(s.sent) != 1 {
					t.Errorf("got %q, %v", id, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "durable: put: ") || !strings.Contains(err.Error(), test.want) || id != "" {
				t.Errorf("got %q, %v, want an error with %q", id, err, test.want)
			}
			if len(s.sent) != 0 || q.counts.put.Load() != 0 {
				t.Error("something was published or counted")
			}
		})
	}
	q := online(t, new(server), Config{MaxPayload: 10})
	if _, err := q.Put(t.Context(), make([]byte, 11)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("above Config.MaxPayload: %v", err)
	}
	if _, err := q.Put(t.Context(), make([]byte, 10)); err != nil {
		t.Errorf("at Config.MaxPayload: %v", err)
	}
	if q := fakeQueue(t, new(server), Config{}); q.maxPayload() != 0 {
		t.Errorf("without a server the limit is %d, want 0", q.maxPayload())
	}
}

// What is published.
func TestPut_Message(t *testing.T) {
	for name, test := range map[string]struct {
		id      string
		options []PutOption
		at      time.Duration
		check   func(t *testing.T, q *Queue, m *nats.Msg, id string)
	}{
		"at once": {check: func(t *testing.T, _ *Queue, m *nats.Msg, id string) {
			if m.Subject != "retrywhen.q.job."+id+".first" || len(m.Header) != 0 || string(m.Data) != "data" || len(id) != 22 {
				t.Errorf("%s, %v, %q", m.Subject, m.Header, m.Data)
			}
		}},
		"an empty id": {options: []PutOption{PutID("")}, check: func(t *testing.T, _ *Queue, m *nats.Msg, id string) {
			if len(id) != 22 || len(m.Header) != 0 {
				t.Errorf("the id is %q, the headers are %v", id, m.Header)
			}
		}},
		"with an id": {options: []PutOption{PutID("x")}, check: func(t *testing.T, _ *Queue, m *nats.Msg, id string) {
			if s := readState(m.Header); id != "x" || !s.put.Equal(time.Now()) || !s.due.IsZero() || get(m.Header, headerLastSequence) != "0" || get(m.Header, headerLastSubject) != "retrywhen.q.job.x.*" {
				t.Errorf("the id is %q, the headers are %v", id, m.Header)
			}
		}},
		"in the past": {at: -time.Hour, check: func(t *testing.T, _ *Queue, m *nats.Msg, id string) {
			if !strings.HasSuffix(m.Subject, ".first") || len(m.Header) != 0 {
				t.Errorf("%s, %v", m.Subject, m.Header)
			}
		}},
		"in an hour": {at: time.Hour, check: func(t *testing.T, _ *Queue, m *nats.Msg, id string) {
			due := time.Now().Add(time.Hour)
			if s := readState(m.Header); m.Subject != "retrywhen.q.job."+id+".later" || !s.put.Equal(time.Now()) || !s.due.Equal(due) ||
				get(m.Header, headerSchedule) != "@at "+formatTime(due) || get(m.Header, headerScheduleTarget) != "retrywhen.q.job."+id+".again" {
				t.Errorf("%s, %v", m.Subject, m.Header)
			}
		}},
		"with a kind and headers": {options: []PutOption{PutKind("k"), PutHeader("A", "b"), PutHeader("A", "c"), PutHeader("D", ""), PutHeader("E", "x\ty")},
			check: func(t *testing.T, _ *Queue, m *nats.Msg, _ string) {
				if s := readState(m.Header); s.kind != "k" || strings.Join(s.user["A"], " ") != "b c" || len(s.user["D"]) != 1 || get(s.user, "E") != "x\ty" || len(m.Header) != 4 {
					t.Errorf("the headers are %v", m.Header)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fakeOnline(t, Config{})
			synctest.Test(t, func(t *testing.T) {
				id, err := q.PutAt(t.Context(), time.Now().Add(test.at), []byte("data"), test.options...)
				must(t, err)
				test.check(t, q, s.lastSent(), id)
			})
		})
	}
}

// A time that the server cannot schedule becomes the last one that it can. One beyond the calendar is an error.
func TestPutAt_FarTimes(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	for at, want := range map[time.Time]string{
		time.Date(2261, 12, 31, 0, 0, 0, 0, time.UTC): "@at 2261-12-31T00:00:00Z",
		time.Date(2262, 1, 1, 0, 0, 0, 1, time.UTC):   "@at 2262-01-01T00:00:00Z",
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC):   "@at 2262-01-01T00:00:00Z",
	} {
		if _, err := q.PutAt(t.Context(), at, nil); err != nil || get(s.lastSent().Header, headerSchedule) != want {
			t.Errorf("%v: %v, %s, want %s", at, err, get(s.lastSent().Header, headerSchedule), want)
		}
		if !readState(s.lastSent().Header).due.Equal(at) {
			t.Errorf("%v: due at %v", at, readState(s.lastSent().Header).due)
		}
	}
	if _, err := q.PutAt(t.Context(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), nil); err == nil || !strings.Contains(err.Error(), "year 10000, want at most 9999") {
		t.Errorf("the year 10000: %v", err)
	}
}

// What Put returns for each response of the server.
func TestPut_Responses(t *testing.T) {
	api := func(code jetstream.ErrorCode) error {
		return &jetstream.APIError{Code: 503, ErrorCode: code, Description: "no"}
	}
	for name, test := range map[string]struct {
		id        string
		responses []error
		other     bool // the id is that of another job
		gone      bool // the job is gone
		want      []error
		text      string
		puts      int64
		twice     int64
		published int
	}{
		"stored":                        {responses: []error{nil}, puts: 1, published: 1},
		"the id exists":                 {id: "x", responses: []error{refused}, want: []error{ErrExists}, text: `durable: put: job "x": a job with that id exists`, twice: 1, published: 1},
		"stored without a response":     {responses: []error{errNoResponse, refused}, puts: 1, published: 2},
		"its own, without a response":   {id: "x", responses: []error{errNoResponse, refused}, puts: 1, published: 2},
		"another's, without a response": {id: "x", other: true, responses: []error{errNoResponse, refused}, want: []error{ErrExists}, twice: 1, published: 2},
		"done before the second try":    {gone: true, responses: []error{errNoResponse, refused}, puts: 1, published: 2},
		"unavailable, then stored":      {responses: []error{unavailable, nil}, puts: 1, published: 2},
		"the disk is full":              {responses: []error{api(codeStoreFailed)}, want: []error{ErrFull}, text: "could not write", published: 2},
		"the account is full":           {responses: []error{api(codeStorageExceeded)}, want: []error{ErrFull}, text: "free disk space", published: 2},
		"unavailable, then full":        {responses: []error{unavailable, api(codeStoreFailed)}, want: []error{ErrFull}, published: 2},
		"no response, then full":        {responses: []error{errNoResponse, api(codeInsufficientResources)}, want: []error{ErrNotStored}, text: "put it again with the same id", published: 2},
		"too large for the server":      {responses: []error{nats.ErrMaxPayload}, want: []error{ErrTooLarge}, published: 1},
		"not permitted":                 {responses: []error{nats.ErrPermissionViolation}, want: []error{ErrRefused}, published: 1},
		"closed meanwhile":              {responses: []error{nats.ErrConnectionClosed}, want: []error{ErrNotStored, ErrClosed}, published: 1},
		"another error":                 {responses: []error{&jetstream.APIError{Code: 400, ErrorCode: 10003}}, text: "durable: put: nats: API error: code=400", published: 1},
		"the stream was deleted":        {responses: []error{jetstream.ErrStreamNotFound}, want: []error{ErrGone}, published: 1},
		"no response for 15 s":          {responses: []error{errNoResponse}, want: []error{ErrNotStored, context.DeadlineExceeded}, text: "put it again with the same id", published: 4},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fake(t, Config{})
			start, n := time.Now(), 0
			var sent *nats.Msg
			s.publish = func(m *nats.Msg) error {
				sent = m
				n++
				return test.responses[min(n, len(test.responses))-1]
			}
			s.last = func(string) (*jetstream.RawStreamMsg, error) {
				if test.gone {
					return nil, jetstream.ErrMsgNotFound
				}
				if test.other {
					return message(q, first, 3, nats.Header{headerPut: {formatTime(start.Add(-time.Hour))}}), nil
				}
				return message(q, first, 3, sent.Header), nil
			}
			var options []PutOption
			if test.id != "" {
				options = []PutOption{PutID(test.id)}
			}
			id, err := q.Put(t.Context(), nil, options...)
			if id == "" || len(test.want)+len(test.text) == 0 && err != nil {
				t.Errorf("got %q, %v", id, err)
			}
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("got %v, want %q", err, test.text)
			}
			if q.counts.put.Load() != test.puts || q.counts.duplicates.Load() != test.twice || n != test.published {
				t.Errorf("counted %d and %d, published %d times, want %d, %d, %d",
					q.counts.put.Load(), q.counts.duplicates.Load(), n, test.puts, test.twice, test.published)
			}
			if took := time.Since(start); took > 15*time.Second || test.published == 4 && took != 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The deadline of the context counts, not 15 s.
func TestPut_Deadline(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{time.Second: time.Second, 20 * time.Second: 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q := fakeQueue(t, &server{publish: func(*nats.Msg) error { return errNoResponse }}, Config{})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			if _, err := q.Put(ctx, nil); !errors.Is(err, ErrNotStored) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != want {
				t.Errorf("%v after %v, want %v", err, time.Since(start), want)
			}
		})
	}
}

// The cause of the context is in the error.
func TestPut_Cause(t *testing.T) {
	going := errors.New("going home")
	synctest.Test(t, func(t *testing.T) {
		q := fakeQueue(t, &server{publish: func(*nats.Msg) error { return errNoResponse }}, Config{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(going) })
		if _, err := q.Put(ctx, nil); !errors.Is(err, ErrNotStored) || !errors.Is(err, going) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

// Close ends a Put that waits.
func TestPut_Closed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fakeQueue(t, &server{publish: func(*nats.Msg) error { return errNoResponse }}, Config{})
		time.AfterFunc(3*time.Second, func() { q.cancel(ErrClosed) })
		start := time.Now()
		if _, err := q.Put(t.Context(), nil); !errors.Is(err, ErrNotStored) || !errors.Is(err, ErrClosed) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := q.Put(t.Context(), nil); !errors.Is(err, ErrClosed) || errors.Is(err, ErrNotStored) {
			t.Errorf("after Close: %v", err)
		}
	})
	q := online(t, new(server), Config{})
	q.nc.Close()
	if _, err := q.Put(t.Context(), nil); !errors.Is(err, nats.ErrConnectionClosed) || !errors.Is(err, ErrClosed) {
		t.Errorf("on a closed connection: %v", err)
	}
}

// What to do about a job that is not known to be stored.
func TestNotStored_Help(t *testing.T) {
	const again, full = "put it again with the same id", "its disk may be full"
	for name, test := range map[string]struct {
		online bool
		after  time.Duration
		err    error
		want   string
		kind   error
	}{
		"the server is away":              {after: time.Minute, err: nats.ErrTimeout, want: again, kind: ErrNotStored},
		"it is there, and does not store": {online: true, after: firstWait, err: nats.ErrTimeout, want: full, kind: ErrNotStored},
		"it is there, for a moment":       {online: true, after: firstWait - 1, err: nats.ErrTimeout, want: again, kind: ErrNotStored},
		"no stream responds":              {online: true, after: firstWait - 1, err: jetstream.ErrNoStreamResponse, want: again, kind: ErrNotStored},
		"the stream is gone":              {online: true, err: jetstream.ErrNoStreamResponse, want: "open the queue again", kind: ErrGone},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fake(t, Config{})
			if test.online {
				q.nc = connected(t, s)
				defer q.nc.Close()
			}
			q.js = streamless{fakeJetStream{s: s}, map[bool]error{true: jetstream.ErrStreamNotFound, false: nats.ErrTimeout}[test.kind == ErrGone]}
			err := request{q.backend, "put", "put it again with the same id", time.Now().Add(-test.after), nil}.notStored(t.Context(), test.err)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), full) != (test.want == full) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// streamless is a server of which no stream can be had.
type streamless struct {
	fakeJetStream
	err error
}

func (s streamless) Stream(context.Context, string) (jetstream.Stream, error) { return nil, s.err }

// A job that has ended calls the hooks once, with what its attempts took together.
func TestDone_Hooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		var recovered []retry.Recovery
		var results []retry.Result
		q := fakeQueue(t, s, Config{Policy: retry.Default.With(
			retry.OnRecovered(func(_ context.Context, r retry.Recovery) { recovered = append(recovered, r) }),
			retry.OnDone(func(_ context.Context, r retry.Result) { results = append(results, r) }))})
		firstFailure := time.Now().Add(-time.Minute)
		d := deliver(q, s, again, func(d *delivery) {
			d.state.put, d.state.lastError, d.state.retry = firstFailure, "no", failures(2, firstFailure)
		})
		job := q.newJob(d)
		if job.Attempt != 3 || job.LastError != "no" || !job.FirstFailure.Equal(firstFailure) || !job.Put.Equal(firstFailure) || job.Redelivered {
			t.Errorf("the job is %+v", job)
		}
		time.Sleep(time.Second)
		must(t, job.Done())
		if len(recovered) != 1 || recovered[0].Last.Error() != "no" || recovered[0].Retries != 2 || recovered[0].Down != 61*time.Second ||
			len(results) != 1 || results[0].Err != nil || results[0].Elapsed != 61*time.Second {
			t.Errorf("OnRecovered got %+v, OnDone got %+v", recovered, results)
		}
		fresh := deliver(q, s, first, func(d *delivery) { d.put = d.put.Add(-time.Hour) })
		job = q.newJob(fresh)
		time.Sleep(time.Second)
		if err := job.Done(); err != nil || len(recovered) != 1 || len(results) != 2 || results[1].Elapsed != time.Second || results[1].Attempts != 1 {
			t.Errorf("%v; OnRecovered got %+v, OnDone got %+v", err, recovered, results)
		}
	})
}

// While its feed lasts, a report has as long as the feed.
func TestJob_ReportDuringItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &server{publish: func(*nats.Msg) error {
			if time.Since(start) < 4*settleTime {
				return errNoResponse
			}
			return nil
		}}
		q := online(t, s, Config{})
		if err := q.newJob(deliver(q, s, first, func(d *delivery) { d.state.put = start })).Done(); err != nil || time.Since(start) < 4*settleTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// After the end of the stream of Jobs, a report has settleTime.
func TestJob_ReportAfterItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { return errNoResponse }}
		q := fakeQueue(t, s, Config{})
		d := deliver(q, s, first, nil)
		d.feed.cancel()
		start := time.Now()
		if err := q.newJob(d).Done(); err == nil || time.Since(start) != settleTime {
			t.Errorf("%v after %v, want an error after %v", err, time.Since(start), settleTime)
		}
	})
}

// After Close, a report is refused: Close has handed the job back.
func TestJob_ReportAfterClose(t *testing.T) {
	s, q := fake(t, Config{})
	q.cancel(ErrClosed)
	for what, err := range map[string]error{"done": q.newJob(deliver(q, s, first, nil)).Done(), "fail": q.newJob(deliver(q, s, first, nil)).Fail(errors.New("no"))} {
		if !errors.Is(err, ErrClosed) || !strings.HasPrefix(err.Error(), "durable: "+what+": job x: ") || !strings.Contains(err.Error(), "attempted again") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.did(t, "")
}

// Put says when the job was put: by the server, if nobody else knows.
func TestNewJob_Put(t *testing.T) {
	s, q := fake(t, Config{})
	stored, put := time.Now().Add(-time.Minute), time.Now().Add(-time.Hour)
	d := deliver(q, s, first, func(d *delivery) { d.put, d.claimed = stored, true })
	if job := q.newJob(d); !job.Put.Equal(stored) || !job.Redelivered || job.Attempt != 1 || job.ID != "x" || string(job.Data) != "data" {
		t.Errorf("the job is %+v", job)
	}
	d.state.put, d.state.kind, d.state.user = put, "k", nats.Header{"A": {"b"}}
	if job := q.newJob(d); !job.Put.Equal(put) || job.Kind != "k" || job.Header.Get("A") != "b" {
		t.Errorf("the job is %+v", job)
	}
	if n := q.counts.attempts.Load(); n != 2 {
		t.Errorf("%d attempts are counted, want 2", n)
	}
}

func TestSnooze(t *testing.T) {
	if err := Snooze(0); err.Error() != "durable: snooze for 0s" {
		t.Errorf("got %v", err)
	}
	panics(t, "durable: Snooze: d is -1ns, want at least 0", func() { Snooze(-1) })
}

// The server reports a missing permission outside of the response, which never comes.
func TestPut_NotPermitted(t *testing.T) {
	q := online(t, new(server), Config{})
	before := q.nc.LastError()
	if q.denied(before) != nil {
		t.Errorf("at the start: %v", q.denied(before))
	}
	if err := errors.Join(q.nc.Publish("forbidden", nil), q.nc.Flush()); err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatal(err)
	}
	violation := q.denied(before)
	if !errors.Is(violation, nats.ErrPermissionViolation) || q.denied(violation) != nil {
		t.Errorf("got %v, and after it %v", violation, q.denied(violation))
	}
	if err := (request{q.backend, "put", "put it again with the same id", time.Now().Add(-time.Minute), before}).notStored(t.Context(), nats.ErrTimeout); !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotStored) {
		t.Errorf("got %v, want that the server refused", err)
	}
	if err := (request{q.backend, "put", "put it again with the same id", time.Now().Add(-time.Minute), violation}).notStored(t.Context(), nats.ErrTimeout); !errors.Is(err, ErrNotStored) {
		t.Errorf("an earlier violation: %v", err)
	}
}

// A job is handed back once, and not after a report.
func TestJob_HandBack(t *testing.T) {
	s, q := fake(t, Config{})
	job := q.newJob(deliver(q, s, first, nil))
	once, twice := job.handBack(time.Minute), job.handBack(time.Minute)
	if got := s.took(); got != "nak in 1m0s" || !once || twice {
		t.Errorf("it did %q", got)
	}
	if err := job.Fail(nil); !errors.Is(err, ErrSettled) {
		t.Errorf("a report after it: %v", err)
	}
	if err := q.newJob(deliver(q, s, first, nil)).Fail(nil); err != nil || q.counts.done.Load() != 1 {
		t.Errorf("Fail(nil) is not Done: %v", err)
	}
}

// Under a context that has ended, Put's error has the context's cause, what the server said last, and still looks
// whether the queue was deleted.
func TestNotStored_UnderAnEndedContext(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	cause := errors.New("the caller left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := request{q.backend, "put", "put it again with the same id", time.Now().Add(-time.Minute), nil}.notStored(ctx, nats.ErrTimeout)
	if !errors.Is(err, ErrNotStored) || !errors.Is(err, cause) || !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("got %v, want the cause and the timeout", err)
	}
	var looked context.Context
	q.js = lookingStream{fakeJetStream{s: s}, &looked}
	err = request{q.backend, "put", "put it again with the same id", time.Now().Add(-time.Minute), nil}.notStored(ctx, jetstream.ErrNoStreamResponse)
	if !errors.Is(err, ErrGone) || looked == nil {
		t.Errorf("got %v, want ErrGone", err)
	}
}

// lookingStream is a server on which the stream is gone, if the request has time for an answer.
type lookingStream struct {
	fakeJetStream
	ctx *context.Context
}

func (s lookingStream) Stream(ctx context.Context, _ string) (jetstream.Stream, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	*s.ctx = ctx
	return nil, jetstream.ErrStreamNotFound
}
