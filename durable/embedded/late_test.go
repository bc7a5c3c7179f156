package embedded_test

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// wired returns a wire to srv, and the URL of srv through it.
func wired(t *testing.T, srv *embedded.Server) (*wire, string) {
	t.Helper()
	u, err := url.Parse(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, u.Host)
	u.Host = w.listener.Addr().String()
	return w, u.String()
}

// The network stalls for longer than Put waits for the first response. Put then publishes again. The server gets both
// publications, and stores one job.
func TestAPutWithoutAResponseIsStoredOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]durable.PutOption{"without an id": nil, "with an id": {durable.PutID("x")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, embedded.Listen(0))
			w, url := wired(t, srv)
			nc := connect(t, url)
			q, direct := open(t, nc, durable.Config{}), open(t, srv, durable.Config{})
			w.stall(2500 * time.Millisecond)
			before := nc.Stats().OutMsgs
			id := put(t, q, "data", options...)
			if n := nc.Stats().OutMsgs - before; n < 3 { // two publications and a look at what is stored
				t.Errorf("Put sent %d messages, want both publications to be sent", n)
			}
			m := lastMessage(t, srv, id)
			if m.Sequence != 1 || string(m.Data) != "data" {
				t.Errorf("the last message is %d, %q, want the first publication", m.Sequence, m.Data)
			}
			var attempts atomic.Int64
			work(t, direct, 1, func(context.Context, *durable.Job) error { attempts.Add(1); return nil })
			untilEmpty(t, direct)
			if n := attempts.Load(); n != 1 {
				t.Errorf("%d attempts, want 1", n)
			}
		})
	}
}

// A publication on a connection that the client has given up reaches the server after the job was put again on a new
// connection, and done. It does not restore a job that was put with an id.
func TestAPublicationThatComesLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []durable.PutOption
		most    int64
	}{
		"with an id":    {[]durable.PutOption{durable.PutID("x")}, 1},
		"without an id": {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, embedded.Listen(0))
			w, url := wired(t, srv)
			nc := connect(t, url)
			q, direct := open(t, nc, durable.Config{}), open(t, srv, durable.Config{})
			var attempts atomic.Int64
			work(t, direct, 1, func(context.Context, *durable.Job) error { attempts.Add(1); return nil })

			before := nc.Stats().OutMsgs
			w.stall(4 * time.Second)
			old := w.all()
			done := make(chan error, 1)
			go func() {
				_, err := q.Put(t.Context(), nil, test.options...)
				done <- err
			}()
			eventually(t, "the job is published", func() bool {
				buffered, err := nc.Buffered()
				return err == nil && buffered == 0 && nc.Stats().OutMsgs > before
			})
			for _, l := range old {
				l.client.CloseWrite()
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			eventually(t, "the old connection is over", func() bool { return len(w.all()) == 1 })
			put(t, direct, "", durable.PutID("after"))
			untilEmpty(t, direct)
			if n := attempts.Load() - 1; n < 1 || n > test.most {
				t.Errorf("%d attempts, want 1 to %d", n, test.most)
			}
			if s, err := stats(t, direct); err != nil || s.Dead != 0 {
				t.Errorf("got %v, %v, want no dead letter", s, err)
			}
		})
	}
}

// The first publication of a job without an id has no headers.
func TestAJobWithoutAnIDHasNoHeaders(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{})
	if m := lastMessage(t, srv, put(t, q, "data")); len(m.Header) != 0 {
		t.Errorf("without an id, the message has the headers %v, want none", m.Header)
	}
	for name, option := range map[string]durable.PutOption{"PutKind": durable.PutKind("k"), "PutHeader": durable.PutHeader("A", "b")} {
		if m := lastMessage(t, srv, put(t, q, "data", option)); len(m.Header) != 1 {
			t.Errorf("with %s, the message has the headers %v, want one", name, m.Header)
		}
	}
	if m := lastMessage(t, srv, put(t, q, "data", durable.PutID("x"))); m.Header.Get("Nats-Expected-Last-Subject-Sequence") != "0" {
		t.Errorf("with an id, the message has the headers %v, want a condition", m.Header)
	}
}

// lastMessage returns the last message of a job of the queue q.
func lastMessage(t *testing.T, srv *embedded.Server, id string) *jetstream.RawStreamMsg {
	t.Helper()
	js, err := jetstream.New(connect(t, srv))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "retrywhen-q")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "retrywhen.q.job."+id+".*")
	if err != nil {
		t.Fatal(err)
	}
	return m
}
