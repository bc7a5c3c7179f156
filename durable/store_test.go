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
)

// unavailable is a transient error of the server.
var unavailable = &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "no leader"}

// What store does about each response.
func TestStore(t *testing.T) {
	errLook := errors.New("look")
	type times []time.Duration
	for name, test := range map[string]struct {
		step      step
		responses []error // one for each publication, the last one for all others
		last      func(q *Queue, m *nats.Msg) (*jetstream.RawStreamMsg, error)
		seq       uint64
		want      error
		did       string
		at        times // of the publications; a jitter adds up to half of the wait
	}{
		"stored":                     {responses: []error{nil}, seq: 101, did: "put later", at: times{0}},
		"moved on":                   {responses: []error{refused}, want: errMoved, did: "put later", at: times{0}},
		"refused for good":           {responses: []error{nats.ErrPermissionViolation}, want: nats.ErrPermissionViolation, did: "put later", at: times{0}},
		"unavailable":                {responses: []error{unavailable, nil}, seq: 101, did: "put later; put later", at: times{0, 0}},
		"unavailable, then moved on": {responses: []error{unavailable, refused}, want: errMoved, did: "put later; put later", at: times{0, 0}},
		"no response, then stored":   {responses: []error{errNoResponse, nil}, seq: 101, did: "put later; put later", at: times{0, 2 * time.Second}},
		"no response twice, then stored": {responses: []error{errNoResponse, errNoResponse, nil}, seq: 101, did: "put later; put later; put later",
			at: times{0, 2 * time.Second, 7*time.Second + 25*time.Millisecond}},
		"unavailable, then refused for good": {responses: []error{unavailable, nats.ErrPermissionViolation}, want: nats.ErrPermissionViolation, did: "put later; put later", at: times{0, 0}},
		"no response, then refused, and it was stored": {responses: []error{errNoResponse, refused}, seq: 9, did: "put later; put later; last *", at: times{0, 2 * time.Second},
			last: func(q *Queue, m *nats.Msg) (*jetstream.RawStreamMsg, error) {
				return message(q, later, 9, m.Header), nil
			}},
		"no response, then refused, and another step was stored": {responses: []error{errNoResponse, refused}, want: errMoved, did: "put later; put later; last *", at: times{0, 2 * time.Second},
			last: func(q *Queue, _ *nats.Msg) (*jetstream.RawStreamMsg, error) {
				return message(q, later, 9, nats.Header{headerBy: {"other"}}), nil
			}},
		"no response, then refused, and the job is gone": {responses: []error{errNoResponse, refused}, want: errMoved, did: "put later; put later; last *", at: times{0, 2 * time.Second}},
		"no response, then refused, and the last message cannot be read": {responses: []error{errNoResponse, refused}, want: errLook,
			did: "put later; put later; last *", at: times{0, 2 * time.Second},
			last: func(*Queue, *nats.Msg) (*jetstream.RawStreamMsg, error) { return nil, errLook }},
		"ours decides": {responses: []error{errNoResponse, refused}, seq: 9, did: "put later; put later; last *", at: times{0, 2 * time.Second},
			step: step{ours: func(m *jetstream.RawStreamMsg) bool { return m.Sequence == 9 }},
			last: func(q *Queue, _ *nats.Msg) (*jetstream.RawStreamMsg, error) { return message(q, later, 9, nil), nil }},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fake(t, Config{})
			start := time.Now()
			var at times
			var sent *nats.Msg
			s.publish = func(m *nats.Msg) error {
				sent, at = m, append(at, time.Since(start))
				return test.responses[min(len(at), len(test.responses))-1]
			}
			if test.last != nil {
				s.last = func(string) (*jetstream.RawStreamMsg, error) { return test.last(q, sent) }
			}
			st := test.step
			st.id, st.last, st.m = "x", 5, &nats.Msg{Subject: q.config.subject("x", later), Header: nats.Header{}}
			seq, err := q.store(t.Context(), st, storePolicy)
			if test.want == nil && err != nil || !errors.Is(err, test.want) || seq != test.seq {
				t.Errorf("got %d, %v, want %d, %v", seq, err, test.seq, test.want)
			}
			s.did(t, test.did)
			for i, want := range test.at {
				if i >= len(at) || at[i] < want || at[i] > want+25*time.Millisecond {
					t.Fatalf("published at %v, want %v", at, test.at)
				}
			}
			if h := s.lastSent().Header; get(h, headerLastSequence) != "5" || get(h, headerLastSubject) != "retrywhen.q.job.x.*" || (get(h, headerBy) == "") != (st.ours != nil) {
				t.Errorf("the headers are %v", h)
			}
		})
	}
}

// A fresh step is published without a condition first, and with one then.
func TestStore_Fresh(t *testing.T) {
	s, q := fake(t, Config{})
	s.publish = func(*nats.Msg) error {
		if len(s.sent) == 1 {
			return unavailable
		}
		return nil
	}
	m := &nats.Msg{Subject: q.config.subject("x", first), Header: nats.Header{}}
	_, err := q.store(t.Context(), step{id: "x", m: m, fresh: true, ours: func(*jetstream.RawStreamMsg) bool { return true }}, storePolicy)
	must(t, err)
	if len(s.sent[0].Header) != 0 || get(s.sent[1].Header, headerLastSequence) != "0" {
		t.Errorf("published with %v, then with %v", s.sent[0].Header, s.sent[1].Header)
	}
}

// The end of a context ends store: the first publication by ctx, the others by the context that within returns.
func TestStore_AContextThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { return errNoResponse }}
		q := fakeQueue(t, s, Config{})
		going := errors.New("going home")
		st := func() step {
			return step{id: "x", m: &nats.Msg{Subject: q.config.subject("x", later), Header: nats.Header{}}}
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, going)
		defer cancel()
		start := time.Now()
		if _, err := q.store(ctx, st(), storePolicy); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second || s.took() != "put later" {
			t.Errorf("in the first publication: %v after %v", err, time.Since(start))
		}
		limited := st()
		released := false
		limited.within = func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, going)
			return ctx, func() { released = true; cancel() }
		}
		start = time.Now()
		if _, err := q.store(t.Context(), limited, storePolicy); !errors.Is(err, going) || time.Since(start) != 3*time.Second || !released || s.took() != "put later; put later" {
			t.Errorf("in the second one: %v after %v, released %t", err, time.Since(start), released)
		}
		s.publish = func(*nats.Msg) error { return nats.ErrPermissionViolation }
		if _, err := q.store(t.Context(), limited, storePolicy); err != nats.ErrPermissionViolation {
			t.Errorf("an error of the server: %v", err)
		}
	})
}

// A publication that the user may not make gets no response. It is not repeated.
func TestStore_MayNotPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fakeOnline(t, Config{})
		defer q.nc.Close()
		const subject = "forbidden.x.later"
		s.publish = func(*nats.Msg) error {
			q.nc.Publish(subject, nil)
			return errNoResponse
		}
		start := time.Now()
		_, err := q.store(t.Context(), step{id: "x", m: &nats.Msg{Subject: subject, Header: nats.Header{}}}, storePolicy)
		if took := time.Since(start); !errors.Is(err, nats.ErrPermissionViolation) || took != firstWait || outcomesOf(s) != "put later" {
			t.Errorf("got %v after %v, want a permission violation after %v", err, took, firstWait)
		}
	})
}

// One of 64 acknowledgements waits for the server. That it does not respond is no error: the acknowledgement was sent.
func TestAcks(t *testing.T) {
	s := new(server)
	var a acks
	m := &fakeMsg{s: s}
	for range 2 * ackWindow {
		must(t, a.send(t.Context(), m))
	}
	once := strings.Repeat("ack; ", ackWindow-1) + "double ack"
	s.did(t, once+"; "+once)
	for err, want := range map[error]error{context.DeadlineExceeded: nil, nats.ErrTimeout: nil, context.Canceled: nil, nats.ErrConnectionClosed: nats.ErrConnectionClosed} {
		a.sent.Store(ackWindow - 1)
		m.err = err
		if got := a.send(t.Context(), m); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	m.err = nats.ErrTimeout
	if err := a.send(t.Context(), m); err != nats.ErrTimeout {
		t.Errorf("one that does not wait: %v", err)
	}
}
