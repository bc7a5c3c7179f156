package durable

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/retry"
)

// Open refuses a server that lacks what a queue needs.
func TestOpen_AnOldServer(t *testing.T) {
	nc := connected(t, &server{version: "2.11.9"})
	_, err := Open(t.Context(), nc, Config{Name: "q"})
	if !errors.Is(err, ErrRefused) || err.Error() != "durable: open: the server refused: the server has version 2.11.9: update it to 2.15.0 or later" {
		t.Errorf("got %v, want ErrRefused", err)
	}
}

func TestOpen_AClosedConnection(t *testing.T) {
	nc := connected(t, new(server))
	nc.Close()
	if q, err := Open(t.Context(), nc, Config{Name: "q"}); q != nil || !errors.Is(err, ErrClosed) || err.Error() != "durable: open: the queue is closed: nats: connection closed" {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// A server that does not respond delays Open by 15 s, or until ctx ends.
func TestOpen_NoResponse(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: 15 * time.Second, 3 * time.Second: 3 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			nc := connected(t, new(server))
			ctx := t.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			began := time.Now()
			q, err := Open(ctx, nc, Config{Name: "q"})
			if got := time.Since(began); q != nil || !errors.Is(err, ErrUnreachable) || got != want {
				t.Errorf("got %v after %v, want ErrUnreachable after %v", err, got, want)
			}
		})
	}
}

// What Open requests of a server that has the queue already, and what it does if a request fails.
func TestOpen_Requests(t *testing.T) {
	const consumers = "PUB retrywhen-q; PUB again; PUB first; PUB count-later; PUB count-dead; "
	const all = consumers + "PUB retrywhen-q; PUB retrywhen-q; PUB first"
	const unswept = "; log: jobs that were acknowledged while the disk was full could not be removed"
	for name, test := range map[string]struct {
		fails string // the request
		text  string // of the error
		did   string
	}{
		"all is well":            {did: all},
		"no stream":              {fails: "$JS.API.STREAM.INFO.retrywhen-q", text: "durable: open: stream retrywhen-q: ", did: "PUB retrywhen-q"},
		"no consumer of retries": {fails: "$JS.API.CONSUMER.INFO.retrywhen-q.again", text: "durable: open: consumer again: ", did: "PUB retrywhen-q; PUB again"},
		"no consumer of others":  {fails: "$JS.API.CONSUMER.INFO.retrywhen-q.first", text: "durable: open: consumer first: ", did: "PUB retrywhen-q; PUB again; PUB first"},
		"no count of later ones": {fails: "$JS.API.CONSUMER.INFO.retrywhen-q.count-later", text: "durable: open: consumer count-later: ", did: "PUB retrywhen-q; PUB again; PUB first; PUB count-later"},
		"no count of dead ones":  {fails: "$JS.API.CONSUMER.INFO.retrywhen-q.count-dead", text: "durable: open: consumer count-dead: ", did: strings.TrimSuffix(consumers, "; ")},
		"no sweep":               {fails: "$JS.API.STREAM.MSG.GET.retrywhen-q", did: consumers + "PUB retrywhen-q" + unswept + "; PUB retrywhen-q" + unswept + "; PUB first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(server)
			c := Config{Name: "q", Lease: time.Minute, Replicas: 1, Logger: slog.New(fakeLog{s: s})}
			c.adopt(nil)
			s.respond = func(subject string) string {
				if subject == test.fails {
					return `{"error":{"code":503,"err_code":10008,"description":"no"}}`
				}
				switch subject {
				case "$JS.API.STREAM.INFO.retrywhen-q":
					return asJSON(t, jetstream.StreamInfo{Config: c.stream(jetstream.StreamConfig{})})
				case "$JS.API.CONSUMER.INFO.retrywhen-q.again":
					return asJSON(t, jetstream.ConsumerInfo{Name: "again", Config: c.consumer(again, jetstream.ConsumerConfig{})})
				case "$JS.API.CONSUMER.INFO.retrywhen-q.first":
					return asJSON(t, jetstream.ConsumerInfo{Name: "first", Config: c.consumer(first, jetstream.ConsumerConfig{})})
				case "$JS.API.CONSUMER.INFO.retrywhen-q.count-later", "$JS.API.CONSUMER.INFO.retrywhen-q.count-dead":
					return asJSON(t, jetstream.ConsumerInfo{Name: "count"})
				}
				return `{"error":{"code":404,"err_code":10037,"description":"no message found"}}`
			}
			q, err := Open(t.Context(), connected(t, s), c)
			s.did(t, test.did)
			if test.text != "" {
				if q != nil || err == nil || !strings.HasPrefix(err.Error(), test.text) {
					t.Errorf("got %v, want %s", err, test.text)
				}
				return
			}
			must(t, err)
			if q.config.Lease != time.Minute || q.again.CachedInfo().Name != "again" || q.first.CachedInfo().Name != "first" || q.isClosed() ||
				q.gaps.isSuspect(&delivery{received: time.Now()}, time.Now(), time.Minute) {
				t.Errorf("the queue is %+v", &q.config)
			}
			q.gaps.mu.Lock()
			if q.gaps.ran.IsZero() {
				t.Error("a gap after Open is not detected")
			}
			q.gaps.mu.Unlock()
			if err := errors.Join(q.Close(), q.Close()); err != nil || !q.isClosed() {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// The server reports a missing permission, and does not respond.
func TestOpen_Denied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{respond: func(subject string) string {
			return "-ERR 'Permissions Violation for Publish to \"" + subject + "\"'\r\n"
		}}
		began := time.Now()
		_, err := Open(t.Context(), connected(t, s), Config{Name: "q"})
		if got := time.Since(began); !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnreachable) || got != 15*time.Second {
			t.Errorf("got %v after %v, want ErrRefused after 15s", err, got)
		}
	})
}

func asJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestOpen_Invalid(t *testing.T) {
	if q, err := Open(t.Context(), new(nats.Conn), Config{}); q != nil || err == nil || !strings.HasPrefix(err.Error(), "durable: open: Config.Name is ") {
		t.Errorf("got %v, %v", q, err)
	}
	panics(t, "durable: Open: nc is nil", func() { Open(t.Context(), nil, Config{Name: "q"}) })
}

// A new queue has three replicas in a cluster.
func TestReplicas(t *testing.T) {
	for cluster, want := range map[string]int{"": 1, "c": 3} {
		s := &server{cluster: cluster}
		q := online(t, s, Config{})
		if got := q.replicas(); got != want {
			t.Errorf("cluster %q: got %d, want %d", cluster, got, want)
		}
	}
}

// sweep removes what was acknowledged, and reads no further.
func TestSweep(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		fails map[string]error
		want  string
		err   error
	}{
		"all":                           {want: "get 1 first; delete 3; get 4 first; delete 9; get 10 first"},
		"a message cannot be read":      {fails: map[string]error{"get 4 first": no}, want: "get 1 first; delete 3; get 4 first", err: no},
		"a message cannot be removed":   {fails: map[string]error{"delete 3": no}, want: "get 1 first; delete 3", err: no},
		"a message is gone":             {fails: map[string]error{"delete 3": jetstream.ErrMsgDeleteUnsuccessful}, want: "get 1 first; delete 3; get 4 first; delete 9; get 10 first"},
		"the server does not respond":   {fails: map[string]error{"delete 3": errNoResponse}, want: "get 1 first; delete 3", err: context.DeadlineExceeded},
		"no message of that stage":      {fails: map[string]error{"get 1 first": jetstream.ErrMsgNotFound}, want: "get 1 first"},
		"the last of them, and no more": {fails: map[string]error{"get 10 first": jetstream.ErrMsgNotFound}, want: "get 1 first; delete 3; get 4 first; delete 9; get 10 first"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{fails: test.fails}
			q := fakeQueue(t, s, Config{})
			due, fresh := addConsumers(q, s)
			due.cached.AckFloor.Stream, fresh.cached.AckFloor.Stream = 100, 9
			s.stored = []*jetstream.RawStreamMsg{message(q, again, 2, nil), message(q, first, 3, nil), message(q, first, 9, nil), message(q, first, 10, nil)}
			began := time.Now()
			if err := q.sweep(t.Context(), first); err != test.err {
				t.Errorf("got %v, want %v", err, test.err)
			}
			s.did(t, test.want)
			if got := time.Since(began); test.err == context.DeadlineExceeded && got != laterWait {
				t.Errorf("it took %v, want %v", got, laterWait)
			}
		})
	}
}

// Without a connection it waits, until the context ends.
func TestServerVersion_NoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
		defer cancel()
		began := time.Now()
		got, err := serverVersion(ctx, new(nats.Conn))
		if got != "" || !errors.Is(err, cause) || !errors.Is(err, nats.ErrDisconnected) || time.Since(began) != 50*time.Millisecond {
			t.Errorf("got %q, %v after %v, want the cause after 50ms", got, err, time.Since(began))
		}
	})
}

// It notices a connection that is made later.
func TestServerVersion_ALateConnection(t *testing.T) {
	nc, err := nats.Connect("", nats.InProcessServer(new(lateServer)), nats.RetryOnFailedConnect(true), nats.ReconnectWait(time.Millisecond))
	must(t, err)
	defer nc.Close()
	if got, err := serverVersion(t.Context(), nc); got != "2.15.2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// lateServer refuses the first connection.
type lateServer struct{ tries atomic.Int32 }

func (l *lateServer) InProcessConn() (net.Conn, error) {
	if l.tries.Add(1) == 1 {
		return nil, errors.New("no server")
	}
	return pings{new(server)}.InProcessConn()
}

// Close ends the feeds, waits for them, hands back what the process still has, and waits for the queue's tasks.
func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
		addConsumers(q, s)
		deliver(q, s, first, nil)
		for i := range 2 {
			f := newFeed(q.attempts, 1)
			must(t, q.join(f))
			go func() {
				<-f.stopping
				if f.err() != ErrClosed || q.isClosed() {
					t.Errorf("the feed ends with %v", f.err())
				}
				time.Sleep(time.Duration(i+1) * time.Second)
				if got := s.took(); got != "" {
					t.Errorf("before the feeds have ended it did %q", got)
				}
				q.leave(f)
			}()
		}
		q.tasks.Go(func() { <-q.ctx.Done(); time.Sleep(5 * time.Second); s.note("task") })
		began := time.Now()
		err := q.shutDown()
		if got := s.took(); got != "nak; task" || time.Since(began) != 7*time.Second {
			t.Errorf("it did %q in %v, want the job handed back, then the task's end after 7s", got, time.Since(began))
		}
		if !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "durable: close: acknowledgements and jobs that were handed back may not") {
			t.Errorf("got %v, want ErrUnreachable, because there is no connection", err)
		}
		if !q.isClosed() || len(q.feeds) != 0 {
			t.Errorf("closed: %t, %d feeds", q.isClosed(), len(q.feeds))
		}
		if err := q.join(newFeed(q.attempts, 1)); err != ErrClosed || len(q.feeds) != 0 {
			t.Errorf("a feed after the end: got %v, want ErrClosed", err)
		}
	})
}

// A server that does not respond delays Close by settleTime at most.
func TestShutDown_NoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { return errNoResponse }}
		q := fakeQueue(t, s, Config{})
		for i := range uint64(3) {
			d := deliver(q, s, first, func(d *delivery) { d.seq, d.claimed, d.begun = i, true, 1 })
			d.received = d.received.Add(-1)
		}
		began := time.Now()
		q.shutDown()
		if got := time.Since(began); got != settleTime {
			t.Errorf("it took %v, want %v", got, settleTime)
		}
		if got := s.took(); strings.Count(got, "; nak") != 3 {
			t.Errorf("it did %q, want 3 jobs handed back", got)
		}
	})
}

// Close returns when the server has what was sent.
func TestShutDown_Flushes(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	before := s.pinged.Load()
	if err := q.shutDown(); err != nil || s.pinged.Load() != before+1 {
		t.Errorf("got %v, and %d flushes", err, s.pinged.Load()-before)
	}
	s.hangsUp.Store(true)
	if err := q.flush(); err != nats.ErrConnectionClosed {
		t.Errorf("the connection is lost meanwhile: got %v, want ErrConnectionClosed", err)
	}
	if err := q.flush(); err != nats.ErrDisconnected {
		t.Errorf("without a connection: got %v, want ErrDisconnected", err)
	}
}

func TestDelete(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		err   error
		fails bool
	}{
		"deleted":     {},
		"it was gone": {err: jetstream.ErrStreamNotFound},
		"refused":     {err: no, fails: true},
	} {
		s := &server{fails: map[string]error{"delete stream retrywhen-q": test.err}}
		q := online(t, s, Config{})
		q.close = sync.OnceValue(q.shutDown)
		err := q.Delete(t.Context())
		if (err != nil) != test.fails || err != nil && (!errors.Is(err, no) || !strings.HasPrefix(err.Error(), "durable: delete: stream retrywhen-q: ")) {
			t.Errorf("%s: got %v, fails: %t", name, err, test.fails)
		}
		if got := s.took(); got != "delete stream retrywhen-q" || !q.isClosed() {
			t.Errorf("%s: it did %q, closed: %t", name, got, q.isClosed())
		}
	}
	// The error of Close is returned too.
	s := &server{fails: map[string]error{"delete stream retrywhen-q": no}}
	q := fakeQueue(t, s, Config{})
	q.close = sync.OnceValue(q.shutDown)
	if err := q.Delete(t.Context()); !errors.Is(err, no) || !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want both errors", err)
	}
}

// What a Config may not have, and what is just allowed.
func TestConfig_Invalid(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string // in the error, "" for none
	}{
		"only a name":            {Config{Name: "a"}, ""},
		"the longest name":       {Config{Name: strings.Repeat("a-B_9", 12) + "1234"}, ""},
		"a longer name":          {Config{Name: strings.Repeat("a", 65)}, "Config.Name is"},
		"no name":                {Config{}, `Config.Name is "", want 1 to 64 letters`},
		"a name with a dot":      {Config{Name: "a.b"}, `Config.Name is "a.b"`},
		"one replica":            {Config{Name: "a", Replicas: 1}, ""},
		"two replicas":           {Config{Name: "a", Replicas: 2}, "Config.Replicas is 2, want 1, 3 or 5, or 0 for the default"},
		"three replicas":         {Config{Name: "a", Replicas: 3}, ""},
		"four replicas":          {Config{Name: "a", Replicas: 4}, "Config.Replicas is 4"},
		"five replicas":          {Config{Name: "a", Replicas: 5}, ""},
		"seven replicas":         {Config{Name: "a", Replicas: 7}, "Config.Replicas is 7"},
		"a negative replica":     {Config{Name: "a", Replicas: -1}, "Config.Replicas is -1"},
		"a short lease":          {Config{Name: "a", Lease: time.Second - 1}, "Config.Lease is 999.999999ms, want at least 1s"},
		"the shortest lease":     {Config{Name: "a", Lease: time.Second}, ""},
		"a negative lease":       {Config{Name: "a", Lease: -time.Second}, "Config.Lease is -1s"},
		"a negative KeepDead":    {Config{Name: "a", KeepDead: -1}, "Config has KeepDead -1ns, Grace 0s, MaxPayload 0, MaxDead 0, want none negative"},
		"a negative Grace":       {Config{Name: "a", Grace: -1}, "Grace -1ns"},
		"a negative MaxPayload":  {Config{Name: "a", MaxPayload: -1}, "MaxPayload -1"},
		"a negative MaxDead":     {Config{Name: "a", MaxDead: -1}, "MaxDead -1"},
		"a short KeepDead":       {Config{Name: "a", KeepDead: time.Second - 1}, "Config.KeepDead is 999.999999ms, want at least 1s, or 0 for forever"},
		"the shortest KeepDead":  {Config{Name: "a", KeepDead: time.Second}, ""},
		"a negative MaxCrashes":  {Config{Name: "a", MaxCrashes: -1}, "Config.MaxCrashes is -1, want at least 1, or 0 for the default"},
		"a negative Remember":    {Config{Name: "a", Remember: -1}, "Config.Remember is -1ns"},
		"a short Remember":       {Config{Name: "a", Remember: 30*time.Second - 1}, "Config.Remember is 29.999999999s, want at least one Lease (30s)"},
		"the shortest Remember":  {Config{Name: "a", Remember: 30 * time.Second}, ""},
		"Remember below a lease": {Config{Name: "a", Lease: time.Minute, Remember: 30 * time.Second}, "want at least one Lease (1m0s)"},
	} {
		c, err := test.config.withDefaults()
		if err == nil {
			c.adopt(nil)
			err = c.checkSettings(Config{Remember: 1})
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "durable: open: ")) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestConfig_Defaults(t *testing.T) {
	c, err := Config{Name: "a"}.withDefaults()
	c.adopt(nil)
	if err != nil || c.Policy.String() != "exponential base=1s factor=2 cap=1h jitter=equal within=24h attempttimeout=30m" || c.Lease != 30*time.Second || c.Remember != 2*time.Minute || c.MaxDead != 100_000 || c.MaxCrashes != 5 ||
		c.Logger == nil || c.KeepDead != 0 || c.Grace != 5*time.Second || c.MaxPayload != 0 || c.Replicas != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	own := Config{Name: "a", Policy: retry.Default.With(retry.Limit(1), retry.AttemptTimeout(time.Hour)), Lease: time.Minute, Remember: time.Hour, MaxDead: 3, MaxCrashes: 2, Logger: slog.Default()}
	if c, err := own.withDefaults(); err != nil || c.Policy != own.Policy || c.Lease != own.Lease || c.Remember != own.Remember || c.MaxDead != 3 ||
		c.MaxCrashes != 2 || c.Logger == nil {
		t.Errorf("got %+v, %v, want it as it was", c, err)
	}
}
