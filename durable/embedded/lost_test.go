package embedded_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// A Put that has failed while the connection was lost is not stored when it is back.
func TestPutWhileTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc := connect(t, "nats://127.0.0.1:"+port)
	q := open(t, nc, durable.Config{})
	server.kill()
	eventually(t, "the client knows", nc.IsReconnecting)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := q.Put(ctx, nil, durable.PutID("job")); !errors.Is(err, durable.ErrNotStored) || !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	spawn(t, "server", dir, port)
	eventually(t, "the connection is back", nc.IsConnected)
	put(t, q, "", durable.PutID("next"))
	if info, err := q.Get(t.Context(), "job"); !errors.Is(err, durable.ErrNotFound) {
		t.Errorf("it was stored nevertheless: %+v, %v", info, err)
	}
}

// Open with credentials that the server refuses says so at once.
func TestOpenWithAWrongPassword(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(start(t, embedded.Listen(0)).URL())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("nats://"+u.Host, nats.Token("wrong"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	began := time.Now()
	if _, err := durable.Open(t.Context(), nc, durable.Config{Name: "q"}); !errors.Is(err, durable.ErrRefused) || time.Since(began) > 10*time.Second {
		t.Errorf("got %v after %v, want ErrRefused", err, time.Since(began))
	}
}
