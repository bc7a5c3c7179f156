package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
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

// restarts is a server that can be closed and started again at its place.
func restarts(t *testing.T) (srv *embedded.Server, again func()) {
	t.Helper()
	dir := t.TempDir()
	port, _ := strconv.Atoi(freePort(t))
	begin := func() *embedded.Server {
		s, err := embedded.Start(dir, embedded.Listen(port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	return begin(), func() { begin() }
}

// What Put has said is not stored must not be stored behind its back when the connection is back.
func TestAPutThatFailedIsNotSentLater(t *testing.T) {
	t.Parallel()
	srv, again := restarts(t)
	var log journal
	q := open(t, durable.Config{URL: srv.URL(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	put(t, q, "", durable.PutID("before"))
	srv.Close()
	eventually(t, "the connection is lost", func() bool { return strings.Contains(log.String(), "connection lost") })
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
	if text := log.String(); strings.Contains(text, "@") || !strings.Contains(text, "connection is back") {
		t.Errorf("the log has the token, or no line for the connection that is back:\n%s", text)
	}
}

// An attempt that ends while there is no connection is acknowledged when there is one.
func TestAnAcknowledgementWaitsForTheConnection(t *testing.T) {
	t.Parallel()
	srv, again := restarts(t)
	var log journal
	q := open(t, durable.Config{URL: srv.URL(), Logger: slog.New(slog.NewTextHandler(&log, nil))}) // with a lease of 30 s
	put(t, q, "")
	job, err := q.Jobs().Take(1).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	eventually(t, "the connection is lost", func() bool { return strings.Contains(log.String(), "connection lost") })
	if err := job[0].Done(); err != nil {
		t.Errorf("Done: %v", err)
	}
	again()
	eventually(t, "the queue is empty", isEmpty(t, q))
	if s, err := q.Stats(t.Context()); err != nil || s.Done != 1 || s.Attempts != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestCloseIsNoLostConnection(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	for _, c := range []durable.Config{{Server: srv}, {URL: srv.URL()}} {
		var log journal
		c.Name, c.Logger = "q", slog.New(slog.NewTextHandler(&log, nil))
		closed := make(chan struct{}) // nats.go calls this handler last
		c.NATS = []nats.Option{nats.ClosedHandler(func(*nats.Conn) { close(closed) })}
		q, err := durable.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		put(t, q, "")
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		<-closed
		if text := log.String(); text != "" {
			t.Errorf("it says:\n%s", text)
		}
	}
}
