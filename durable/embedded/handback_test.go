package embedded_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// A job is fetched ahead and handed back again and again, because the worker is busy. These deliveries do not count as
// crashes.
func TestAJobThatOnlyWaitsIsNotAbandoned(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Lease: time.Second, MaxCrashes: 1})
	for range 50 {
		put(t, q, "quick")
	}
	release := make(chan struct{})
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) == "slow" {
			<-release
		}
		return nil
	})
	untilEmpty(t, q)
	put(t, q, "slow")
	put(t, q, "waits")
	eventually(t, "it is handed back", func() bool { s, err := stats(t, q); return err == nil && s.HandedBack > 0 })
	time.Sleep(2 * time.Second) // once, not again and again
	close(release)
	untilEmpty(t, q)
	if s, err := stats(t, q); err != nil || s.Dead != 0 || s.Done != 52 || s.HandedBack != 1 {
		t.Errorf("got %v, %v, want 52 done, and one handed back", s, err)
	}
}

// A busy worker also hands back a job that it keeps for a short wait. Another worker gets the job with its retry state.
func TestAShortWaitOfABusyWorkerIsGivenAway(t *testing.T) {
	t.Parallel()
	srv := start(t)
	config := durable.Config{Lease: time.Second, Policy: retry.New(backoff.Constant(200 * time.Millisecond))}
	busy, other := open(t, srv, config), open(t, srv, config)
	put(t, busy, "", durable.PutID("fails"))
	put(t, busy, "", durable.PutID("lasts"))
	begun, release := make(chan struct{}), make(chan struct{})
	var failed atomic.Int64
	begin := sync.OnceFunc(func() { close(begun) })
	work(t, busy, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID == "fails" {
			failed.Add(1)
			return errors.New("no")
		}
		begin()
		<-release
		return nil
	})
	defer close(release)
	<-begun
	attempts := make(chan *durable.Job, 1)
	work(t, other, 1, func(_ context.Context, job *durable.Job) error { attempts <- job; return nil })
	if job := <-attempts; job.ID != "fails" || int64(job.Attempt) != failed.Load()+1 || job.LastError != "no" {
		t.Errorf("got %+v, want the attempt after %d of the job that failed", job, failed.Load())
	}
}

// The server can never store the outcome. The job is not attempted again and again without a pause.
func TestAnOutcomeThatCannotBeStoredIsNoHotLoop(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{"a retry": errors.New("no"), "a dead letter": retry.Permanent(errors.New("no"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(2 * time.Second))})
			nc, err := srv.Connect()
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			js, _ := jetstream.New(nc)
			if _, err := js.Publish(t.Context(), "retrywhen.q.job.huge.first", make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			var attempts atomic.Int64
			stop := work(t, q, 1, func(context.Context, *durable.Job) error {
				attempts.Add(1)
				return outcome
			})
			eventually(t, "it is attempted", func() bool { return attempts.Load() > 0 })
			time.Sleep(1500 * time.Millisecond)
			if n := attempts.Load(); n != 1 {
				t.Errorf("%d attempts in 1.5 s, want 1", n)
			}
			stop()
		})
	}
}

func TestStoppingWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc, err := nats.Connect("nats://127.0.0.1:"+port, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	q := open(t, nc, durable.Config{})
	put(t, q, "")
	begun := make(chan struct{})
	stop := work(t, q, 1, func(context.Context, *durable.Job) error { close(begun); return nil })
	<-begun
	server.kill()
	eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}
