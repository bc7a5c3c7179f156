package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
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
	must(t, err)
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
	must(t, <-opened)
	js, _ := jetstream.New(nc)
	s, err := js.Stream(t.Context(), "retrywhen-q")
	if err != nil || !s.CachedInfo().Config.AllowMsgSchedules {
		t.Errorf("no schedules: %v", err)
	}
}

// Open makes all that a queue needs, or says which limit of the account is too low.
func TestOpenInAnAccountWithLimits(t *testing.T) {
	t.Parallel()
	const enough = -1
	for name, test := range map[string]struct {
		streams, consumers int
		bytesRequired      bool
		want               error
		text               string
	}{
		"no stream":       {streams: 1, consumers: enough, want: durable.ErrFull, text: "raise the account's max_streams"}, // there is another
		"one consumer":    {streams: enough, consumers: 1, want: durable.ErrFull, text: "raise the account's max_streams or max_consumers: a queue needs 1 stream with 4 consumers"},
		"two consumers":   {streams: enough, consumers: 2, want: durable.ErrFull, text: "open: consumer count-later: the server has no room left"},
		"three consumers": {streams: enough, consumers: 3, want: durable.ErrFull, text: "open: consumer count-dead: the server has no room left"},
		"just enough":     {streams: 2, consumers: 4},
		"max_bytes":       {streams: enough, consumers: enough, bytesRequired: true, want: durable.ErrRefused, text: "remove max_bytes_required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			open(t, srv, durable.Config{Name: "another"})
			must(t, srv.NATS().GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": {MaxMemory: enough, MaxStore: enough,
				MaxStreams: test.streams, MaxConsumers: test.consumers, MaxAckPending: enough, MaxBytesRequired: test.bytesRequired}}))
			q, err := durable.Open(t.Context(), connect(t, srv), durable.Config{Name: "q"})
			if test.want != nil {
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("got %v, want %v, %q", err, test.want, test.text)
				}
				return
			}
			must(t, err)
			defer q.Close()
			if _, err := q.Stats(t.Context()); err != nil {
				t.Errorf("Stats: %v", err)
			}
		})
	}
}

// A user who may only put jobs opens a queue whose server has started again, so that the consumers that count are gone.
// Open says in the log that nothing counts.
func TestOpenWithoutThePermissionToCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 2 {
		srv, err := embedded.Start(dir, embedded.Options(func(o *server.Options) {
			o.Users = []*server.User{{Username: "all", Password: "pw"}, {Username: "putter", Password: "pw", Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: putterPermissions},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}}}
		}))
		must(t, err)
		user := map[int]string{0: "all", 1: "putter"}[n]
		nc := connect(t, srv, nats.UserInfo(user, "pw"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		var log journal
		q, err := durable.Open(t.Context(), nc, durable.Config{Name: "q", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		put(t, q, "")
		_, err = q.Stats(t.Context())
		denied := strings.Contains(log.String(), "jobs cannot be counted") && strings.Contains(log.String(), "CONSUMER.CREATE.retrywhen-q.count-later")
		if denied != (n == 1) || errors.Is(err, durable.ErrRefused) != (n == 1) {
			t.Errorf("%s: Stats: %v; logged %s", user, err, log.String())
		}
		q.Close()
		nc.Close()
		srv.Close()
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
	must(t, err)
	defer nc.Close()
	q := open(t, nc, durable.Config{})
	nc.Publish("elsewhere", nil)
	eventually(t, "the server refuses", func() bool { return errors.Is(nc.LastError(), nats.ErrPermissionViolation) })
	js, _ := jetstream.New(nc)
	must(t, js.DeleteStream(t.Context(), "retrywhen-q"))
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // on a busy machine
	defer cancel()
	var all sync.WaitGroup
	var stored atomic.Int64
	for range 20 {
		all.Go(func() {
			q, err := durable.Open(ctx, connect(t, srv), durable.Config{Name: "q"})
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

// A server that cannot make the stream's store, as may be right after a deletion, is asked again.
func TestOpen_TheStoreCannotBeMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "jetstream", "$G", "streams", "retrywhen-q")
	warnings := slog.New(slog.NewTextHandler(remover(file), &slog.HandlerOptions{Level: slog.LevelWarn}))
	srv, err := embedded.Start(dir, embedded.Logger(warnings))
	must(t, err)
	defer srv.Close()
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, nil, 0o600))
	put(t, open(t, srv, durable.Config{}), "")
}

// remover removes the file with this name at each line that is logged.
type remover string

func (name remover) Write(line []byte) (int, error) { return len(line), os.Remove(string(name)) }

// A server that takes long does not delete the consumers that Open has made before Open makes them the queue's.
func TestOpenOfASlowServer(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t, embedded.Listen(0)).URL(), nats.SetCustomDialer(&badDialer{only: `"action":"update"`, late: 6500 * time.Millisecond}))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	q, err := durable.Open(ctx, nc, durable.Config{Name: "q"})
	must(t, err)
	must(t, q.Close())
}

// A process with another MaxDead does not delete the dead letters of the first one: Open refuses it. A process that
// leaves the settings open takes those of the queue.
func TestTheSettingsAreTheQueues(t *testing.T) {
	t.Parallel()
	srv := start(t)
	policy := retry.New(backoff.Backoff{}, retry.Limit(0))
	q := open(t, srv, durable.Config{Policy: policy, MaxDead: 30})
	for _, other := range []durable.Config{{Name: "q", MaxDead: 10}, {Name: "q", Lease: time.Minute}, {Name: "q", Remember: time.Hour},
		{Name: "q", KeepDead: time.Hour}, {Name: "q", MaxCrashes: 2}} {
		if _, err := durable.Open(t.Context(), connect(t, srv), other); !errors.Is(err, durable.ErrOtherConfig) || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%+v: got %v, want ErrOtherConfig", other, err)
		}
	}
	other := open(t, srv, durable.Config{Policy: policy})
	work(t, other, 4, func(context.Context, *durable.Job) error { return errors.New("no") })
	for range 20 {
		put(t, q, "")
	}
	eventually(t, "all are dead", func() bool { return other.Counts().Died == 20 })
	open(t, srv, durable.Config{Policy: policy, MaxDead: 10, Update: true})
	if s, err := stats(t, open(t, srv, durable.Config{MaxDead: 10})); err != nil || s.Dead != 20 {
		t.Errorf("got %v, %v, want 20 dead letters", s, err)
	}
}

// The lease is changed to a much shorter one while attempts run. Their worker extends its leases in time from then on,
// so no attempt is repeated.
func TestAShorterLease(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: 8 * time.Second})
	var attempts atomic.Int64
	release := make(chan struct{})
	handler := func(context.Context, *durable.Job) error { attempts.Add(1); <-release; return nil }
	defer close(release)
	work(t, q, 4, handler)
	for range 4 {
		put(t, q, "")
	}
	eventually(t, "they have begun", func() bool { return attempts.Load() == 4 })
	other := open(t, srv, durable.Config{Lease: 3 * time.Second, Update: true})
	work(t, other, 4, handler)
	time.Sleep(7 * time.Second) // more than two of the new leases
	if n := attempts.Load(); n != 4 {
		t.Errorf("%d attempts at 4 jobs", n)
	}
	open(t, srv, durable.Config{Lease: time.Minute, Remember: time.Minute, Update: true})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	_, err := durable.Open(ctx, connect(t, srv), durable.Config{Name: "q", Lease: time.Second, Update: true})
	if err == nil || !strings.Contains(err.Error(), "shorten Config.Lease from 1m0s to 1s: that takes 16s, want a ctx with a later deadline") {
		t.Errorf("without the time for it: %v", err)
	}
}
