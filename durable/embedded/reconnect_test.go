package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// restarts starts a server. again closes it and starts it again with the same folder and port.
func restarts(t *testing.T) (srv *embedded.Server, again func()) {
	t.Helper()
	dir := t.TempDir()
	port, _ := strconv.Atoi(freePort(t))
	begin := func() *embedded.Server {
		s, err := embedded.Start(dir, embedded.Listen(port))
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	return begin(), func() { begin() }
}

// On a connection without a buffer, a job for which Put has returned ErrNotStored is not stored later, when the
// connection is back. On other connections a second Put with the id finds out.
func TestAPutThatFailedIsNotSentLater(t *testing.T) {
	t.Parallel()
	srv, again := restarts(t)
	nc := connect(t, srv.URL(), nats.ReconnectBufSize(-1))
	q := open(t, nc, durable.Config{})
	put(t, q, "", durable.PutID("before"))
	srv.Close()
	eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	for i := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := q.Put(ctx, nil, durable.PutID("during "+strconv.Itoa(i))); !errors.Is(err, durable.ErrNotStored) {
			t.Errorf("while the server is away: %v", err)
		}
		cancel()
	}
	again()
	put(t, q, "", durable.PutID("after"))
	eventually(t, "two jobs are ready", isReady(t, q, 2))
}

// An attempt that ends while the connection is lost is acknowledged when it is back.
func TestAnAcknowledgementWaitsForTheConnection(t *testing.T) {
	t.Parallel()
	srv, again := restarts(t)
	nc := connect(t, srv.URL())
	q := open(t, nc, durable.Config{}) // with a lease of 30 s
	put(t, q, "")
	job, err := q.Jobs().Take(1).Collect(t.Context())
	must(t, err)
	srv.Close()
	eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	done := make(chan error, 1)
	go func() { done <- job[0].Done() }()
	again()
	if err := <-done; err != nil {
		t.Errorf("Done: %v", err)
	}
	untilEmpty(t, q)
	if s, err := stats(t, q); err != nil || s.Done != 1 || s.Attempts != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

// Open with credentials that the server refuses says so at once.
func TestOpenWithAWrongPassword(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(start(t, embedded.Listen(0)).URL())
	must(t, err)
	nc, err := nats.Connect("nats://"+u.Host, nats.Token("wrong"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	must(t, err)
	defer nc.Close()
	began := time.Now()
	if _, err := durable.Open(t.Context(), nc, durable.Config{Name: "q"}); !errors.Is(err, durable.ErrRefused) || time.Since(began) > 10*time.Second {
		t.Errorf("got %v after %v, want ErrRefused", err, time.Since(began))
	}
}
