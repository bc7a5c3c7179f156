package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// The streams of a queue do not overlap with those of another queue.
func TestNamesThatBeginAlikeShareNothing(t *testing.T) {
	t.Parallel()
	srv := start(t)
	one := open(t, srv, durable.Config{Name: "mail"})
	for _, name := range []string{"mail-dead", "mai", "mail-"} {
		put(t, open(t, srv, durable.Config{Name: name}), "")
	}
	if s, err := stats(t, one); err != nil || s.Ready != 0 {
		t.Errorf("got %v, %v", s, err)
	}
}

// It must not look like a connection to a server without schedules.
func TestOpenBeforeTheConnectionIsMade(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	nc, err := nats.Connect("nats://127.0.0.1:"+port, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err = durable.Open(ctx, connect(t, nc), durable.Config{Name: "q"})
	if !errors.Is(err, durable.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	cancel()
	p, _ := strconv.Atoi(port)
	opened := make(chan error, 1)
	go func() {
		q, err := durable.Open(t.Context(), connect(t, nc), durable.Config{Name: "q"})
		if err == nil {
			err = q.Close()
		}
		opened <- err
	}()
	start(t, embedded.Listen(p), anybody)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	js, _ := jetstream.New(nc)
	s, err := js.Stream(t.Context(), "retrywhen-q")
	if err != nil || !s.CachedInfo().Config.AllowMsgSchedules {
		t.Errorf("no schedules: %v", err)
	}
}

// The connection is never established. Open ends with its context.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect("nats://127.0.0.1:"+freePort(t), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = durable.Open(ctx, nc, durable.Config{Name: "q"})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, durable.ErrUnreachable) || took > 10*time.Second {
		t.Errorf("got %v after %v, want the end of the context", err, took)
	}
}

// An earlier refusal on the same connection, of another request, is not the cause of a later failure.
func TestAnOldRefusalIsNotBlamed(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{{Username: "me", Password: "pw", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"$JS.API.>", "$JS.ACK.>", "retrywhen.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}}}
	}))
	nc, err := srv.Connect(nats.UserInfo("me", "pw"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	q := open(t, nc, durable.Config{})
	nc.Publish("elsewhere", nil)
	eventually(t, "the server refuses", func() bool { return errors.Is(nc.LastError(), nats.ErrPermissionViolation) })
	js, _ := jetstream.New(nc)
	if err := js.DeleteStream(t.Context(), "retrywhen-q"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	if _, err := q.Put(ctx, nil); !errors.Is(err, durable.ErrGone) || errors.Is(err, durable.ErrRefused) {
		t.Errorf("got %v, want ErrGone", err)
	}
}

func TestOptionsPanicOnNonsense(t *testing.T) {
	t.Parallel()
	for want, option := range map[string]func(){
		"port is -1":    func() { embedded.Listen(-1) },
		"port is 65536": func() { embedded.Listen(65536) },
		"bytes is -2":   func() { embedded.MaxStore(-2) },
		"bytes is -3":   func() { embedded.MaxPayload(-3) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, want) {
					t.Errorf("got %s, want %s", v, want)
				}
			}()
			option()
		}()
	}
}

func TestConcurrentOpens(t *testing.T) {
	t.Parallel()
	srv := start(t)
	var all sync.WaitGroup
	var stored atomic.Int64
	for range 20 {
		all.Go(func() {
			q, err := durable.Open(t.Context(), connect(t, srv), durable.Config{Name: "q"})
			if err != nil {
				t.Error(err)
				return
			}
			defer q.Close()
			switch _, err := q.Put(t.Context(), nil, durable.PutID("one")); {
			case err == nil:
				stored.Add(1)
			case !errors.Is(err, durable.ErrExists):
				t.Error(err)
			}
			s, err := stats(t, q)
			if err != nil || s.Ready < 0 || s.Ready+s.Running+s.Later > 1 {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
	all.Wait()
	if n := stored.Load(); n != 1 {
		t.Errorf("%d of 20 Puts succeeded, want 1", n)
	}
}
