package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A test of internal/project checks that the code of docs/durable.md stands in this file.

func mail(ctx context.Context, letter []byte, send func(context.Context, string, []byte) error) {
	srv, err := embedded.Start("jobs") // a folder; the server runs in this process
	if err != nil {
		log.Fatal(err)
	}
	nc, err := srv.Connect(nats.MaxReconnects(-1)) // or nats.Connect("nats://n1:4222,nats://n2:4222,nats://n3:4222", …)
	if err != nil {
		log.Fatal(err)
	}
	q, err := durable.Open(ctx, nc, durable.Config{
		Name:   "mail",
		Policy: retry.New(backoff.Exponential(time.Second, 2).Cap(time.Hour).Jitter(jitter.Equal), retry.Within(24*time.Hour)),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := q.Put(ctx, letter, durable.PutID("order-4711")); err != nil && !errors.Is(err, durable.ErrExists) {
		log.Fatal(err) // if err is nil, the job is stored; ErrExists: it was stored before
	}
	stopping, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	err = q.Work(stopping, 16, func(ctx context.Context, job *durable.Job) error {
		return send(ctx, job.ID, job.Data) // idempotent: job.ID is the idempotency key
	})
	if err != nil {
		log.Print(err)
	}

	if err := errors.Join(err, q.Close()); err != nil {
		panic(err)
	}
	nc.Close()
	srv.Close()
}

func TestDocument_AQueue(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	sent := make(chan string, 9)
	mail(ctx, []byte("dear"), func(_ context.Context, id string, data []byte) error {
		sent <- id + " " + string(data)
		stop()
		return nil
	})
	if got := <-sent; got != "order-4711 dear" || len(sent) != 0 {
		t.Errorf("sent %q, and %d more", got, len(sent))
	}
	srv, err := embedded.Start("jobs")
	must(t, err)
	defer srv.Close()
	q := open(t, srv, durable.Config{Name: "mail"})
	if _, err := q.Put(t.Context(), nil, durable.PutID("order-4711")); !errors.Is(err, durable.ErrExists) {
		t.Errorf("put again after a restart: %v, want ErrExists", err)
	}
}

func connectTo3(password string) (nc *nats.Conn, err error) {
	nc, err = nats.Connect("tls://n1:4222,tls://n2:4222,tls://n3:4222", // any URLs and options of nats.go
		nats.UserInfo("worker", password), nats.CustomInboxPrefix("_INBOX_worker"), nats.RootCAs("ca.pem"), nats.MaxReconnects(-1))
	return nc, err
}

func TestDocument_ACluster(t *testing.T) {
	t.Chdir(t.TempDir())
	if nc, err := connectTo3("secret"); nc != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v, want a failure because there is no ca.pem", nc, err)
	}
}

func TestDocument_Kinds(t *testing.T) {
	type Row struct{ ID int64 }
	var (
		mu   sync.Mutex
		did  []string
		note = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, fmt.Sprintf(format, args...))
		}
		count = func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(did)
		}
		ctx, q      = t.Context(), open(t, start(t), durable.Config{})
		policy      = retry.Default
		letter      = []byte("dear")
		traceparent = "00-1"
		handler     = func(_ context.Context, job *durable.Job) error {
			note("%s %s", job.Data, job.Header.Get("traceparent"))
			return nil
		}
		night     = func(time.Time) bool { return true }
		send      = func(context.Context, string, []byte) error { return errors.New("sent at night") }
		rowsAfter = func(at int64) stream.Stream[Row] { return stream.Of(Row{at + 1}, Row{at + 2}) }
		copyRow   = func(_ context.Context, r Row) error { note("row %d", r.ID); return nil }
		poll      = func(context.Context, []byte) error { note("polled"); return nil }
		logged    bytes.Buffer
	)
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)

	// Before Work: each kind can have a policy of its own.
	q.Handle("welcome", policy, handler)
	q.Handle("digest", retry.Policy{}, func(ctx context.Context, job *durable.Job) error { // the queue's policy
		if night(time.Now()) {
			return durable.Snooze(time.Hour) // again in an hour: not a failure, and the attempt does not count
		}
		return send(ctx, job.ID, job.Data) // job.Header has what PutHeader has set
	})
	q.Handle("import", retry.Policy{}, func(ctx context.Context, job *durable.Job) error {
		return durable.Resume(job, 0, rowsAfter, func(_ int64, r Row) int64 { return r.ID }).TryForEach(ctx, copyRow)
	})
	q.Handle("poll", retry.Policy{}, func(ctx context.Context, job *durable.Job) error {
		if err := poll(ctx, job.Data); err != nil {
			return err // a failure: the policy decides
		}
		return job.Again(time.Minute) // this round is done: the next one in a minute, and no failure counts any more
	})
	log.Print(q.PutAll(ctx, []durable.NewJob{ // concurrently; one result, with its error, per job
		{Data: letter, Options: []durable.PutOption{durable.PutKind("welcome"), durable.PutHeader("traceparent", traceparent)}},
		{Data: letter, Options: []durable.PutOption{durable.PutKind("digest")}, At: time.Now().Add(time.Hour)},
	}))

	if !strings.Contains(logged.String(), "<nil>") {
		t.Errorf("logged %q", &logged)
	}
	put(t, q, "", durable.PutKind("import"))
	put(t, q, "", durable.PutKind("digest"))
	put(t, q, "", durable.PutKind("poll"))
	work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("of no kind") })
	eventually(t, "two jobs are done, and three wait", func() bool {
		s, err := stats(t, q)
		return err == nil && count() == 4 && s.Later == 3 && s.Done == 2
	})
	for _, want := range []string{"dear 00-1", "row 1", "row 2", "polled"} {
		if !strings.Contains(fmt.Sprint(did), want) {
			t.Errorf("did %q, want %s too", did, want)
		}
	}
	if failed := q.Counts().Retried; failed != 0 {
		t.Errorf("%d failures", failed)
	}
}

// periodic puts a job for each period, before it begins. It may run in any number of processes.
func periodic(ctx context.Context, q *durable.Queue, period time.Duration) {
	for ctx.Err() == nil {
		next := time.Now().UTC().Truncate(period).Add(period)
		_, err := q.PutAt(ctx, next, nil, durable.PutKind("report"), durable.PutID("report-"+next.Format(time.RFC3339)))
		if err != nil && !errors.Is(err, durable.ErrExists) {
			log.Print(err)
			next = time.Now().Add(min(period, 10*time.Second)) // then it is put again, unless its time has come
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next)):
		}
	}
}

// Two processes put a job for each second, and the server is started again meanwhile: each second has one job, which is
// attempted once.
func TestDocument_Periodic(t *testing.T) {
	t.Parallel()
	srv, again := restarts(t)
	var attempts tally
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		q := open(t, connect(t, srv.URL()), durable.Config{})
		q.Handle("report", retry.Policy{}, attempts.handle)
		work(t, q, 1, nil)
		all.Go(func() { periodic(ctx, q, time.Second) })
	}
	eventually(t, "there are two", func() bool { return attempts.jobs() >= 2 })
	srv.Close()
	again()
	eventually(t, "there are five", func() bool { return attempts.jobs() >= 5 })
	cancel()
	all.Wait()
	attempts.mu.Lock()
	defer attempts.mu.Unlock()
	for id, n := range attempts.byID {
		if at, err := time.Parse("report-"+time.RFC3339, id); n != 1 || err != nil || time.Until(at) > 0 {
			t.Errorf("%s: %d attempts, %v", id, n, err)
		}
	}
}

func TestDocument_InMemory(t *testing.T) {
	ctx, nc := t.Context(), connect(t, start(t))
	var q *durable.Queue
	var err error

	q, err = durable.Open(ctx, nc, durable.Config{Name: "test", InMemory: true, Lease: time.Second, Grace: time.Nanosecond,
		Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))})
	if err != nil {
		log.Fatal(err)
	}
	// put, work, wait until q.Get(ctx, id) returns StateDone or StateDead; then q.Close, nc.Close, srv.Close

	t.Cleanup(func() { q.Close() }) // after work's
	id := put(t, q, "")
	work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "the job is dead", func() bool {
		job, err := q.Get(ctx, id)
		return err == nil && job.State == durable.StateDead && job.Attempts == 4
	})
}
