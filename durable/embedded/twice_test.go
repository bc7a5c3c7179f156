package embedded_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// A worker is silent for longer than a lease, so another one gets the job. Then the first worker continues. Whatever
// both report, the job continues once.
func TestAWorkerThatWasTakenForDeadDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"retried by the server", "retried at once", "dead"} {
		{
			t.Run(outcome, func(t *testing.T) {
				t.Parallel()
				srv := start(t, embedded.Listen(0))
				delay := map[string]time.Duration{"retried by the server": 1100 * time.Millisecond}[outcome]
				policy := retry.New(backoff.Constant(delay), retry.Limit(1))
				var m badDialer
				// Remember has its minimum, and is over when the silent worker wakes. So the test does not depend on it.
				config := durable.Config{Policy: policy, Lease: 2 * time.Second, Remember: 2 * time.Second}
				one, two := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&m)), config), open(t, srv, config)
				put(t, two, "", durable.PutID("job"))

				var attempts atomic.Int64
				begun, wake := make(chan struct{}), make(chan struct{})
				fails := func(job *durable.Job) error {
					if outcome == "dead" || job.Attempt == 1 {
						return errors.New("no")
					}
					return nil
				}
				var once sync.Once
				stopOne := work(t, one, 1, func(_ context.Context, job *durable.Job) error {
					attempts.Add(1)
					once.Do(func() { close(begun); <-wake })
					return fails(job)
				})
				<-begun
				m.sending.Lock()
				muted := true
				defer func() {
					if muted {
						m.sending.Unlock()
					}
				}()
				work(t, two, 1, func(_ context.Context, job *durable.Job) error { attempts.Add(1); return fails(job) })
				eventually(t, "the other worker has made both attempts", func() bool { return attempts.Load() == 3 })
				untilEmpty(t, two)
				time.Sleep(2200 * time.Millisecond) // Remember is over
				m.sending.Unlock()
				muted = false
				close(wake)
				// Another job shows that the silent worker is back. Then nothing may be left.
				eventually(t, "the silent worker has reported", func() bool { s, err := stats(t, one); return err == nil && s.Running == 0 })
				stopOne()
				untilEmpty(t, two)
				dead := letters(t, two)
				wantDead := 0
				if outcome == "dead" {
					wantDead = 1
				}
				if len(dead) != wantDead {
					t.Errorf("%d dead letters, want %d", len(dead), wantDead)
				}
				if n := attempts.Load(); n != 3 {
					t.Errorf("%d attempts, want 3: one by each worker, and the retry", n)
				}
			})
		}
	}
}

// The same with a worker that falls silent between storing the retry and acknowledging.
func TestARetryThatWasStoredIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	var m badDialer
	// The delay is longer than a few leases, because the first worker still receives, and may get the job once more before
	// the other one does.
	policy := retry.New(backoff.Constant(5*time.Second), retry.Limit(3))
	config := durable.Config{Policy: policy, Lease: time.Second}
	two := open(t, srv, config)
	one := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&m)), config)
	put(t, two, "", durable.PutID("job"))

	var attempts atomic.Int64
	silence := sync.OnceFunc(m.sending.Lock)
	stopped := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		stopped <- one.Work(ctx, 1, func(context.Context, *durable.Job) error {
			attempts.Add(1)
			return errors.New("no")
		})
	}()
	eventually(t, "the retry is stored", func() bool {
		s, err := stats(t, two)
		if err == nil && attempts.Load() > 0 && s.Later == 1 {
			silence() // before the acknowledgement or after it: both must work
			return true
		}
		return false
	})
	var numbers []int
	var mu sync.Mutex
	work(t, two, 1, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, job.Attempt)
		return nil
	})
	untilEmpty(t, two)
	m.sending.Unlock()
	cancel()
	must(t, <-stopped)
	mu.Lock()
	defer mu.Unlock()
	// The first worker still receives, so it may have had attempt 2 too.
	if attempts.Load() > 2 || len(numbers) != 1 || numbers[0] != 2 {
		t.Errorf("%d attempts by the first worker, then %v, want 1 or 2, then attempt 2", attempts.Load(), numbers)
	}
}

// wired returns a wire to srv, and the URL of srv through it.
func wired(t *testing.T, srv *embedded.Server) (*wire, string) {
	t.Helper()
	u, err := url.Parse(srv.URL())
	must(t, err)
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
			_, s := streamOf(t, nc)
			if m.Sequence != s.CachedInfo().Config.FirstSeq || string(m.Data) != "data" {
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
			must(t, <-done)
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

// streamOf returns the stream of the queue q.
func streamOf(t *testing.T, nc *nats.Conn) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	s, err := js.Stream(t.Context(), "retrywhen-q")
	must(t, err)
	return js, s
}

// lastMessage returns the last message of a job of the queue q.
func lastMessage(t *testing.T, srv *embedded.Server, id string) *jetstream.RawStreamMsg {
	t.Helper()
	_, s := streamOf(t, connect(t, srv))
	m, err := s.GetLastMsgForSubject(t.Context(), "retrywhen.q.job."+id+".*")
	must(t, err)
	return m
}
