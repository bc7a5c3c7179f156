package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, options ...embedded.Option) *embedded.Server {
	t.Helper()
	busy := embedded.Options(func(o *server.Options) { o.AuthTimeout = 60 }) // on a busy machine
	srv, err := embedded.Start(t.TempDir(), append(options, busy)...)
	must(t, err)
	t.Cleanup(func() { srv.Close() })
	return srv
}

// connect returns a connection to a server, which is given as a Server, a URL or a connection.
func connect(t testing.TB, server any, options ...nats.Option) *nats.Conn {
	t.Helper()
	options = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.Timeout(time.Minute)}, options...)
	var nc *nats.Conn
	var err error
	switch s := server.(type) {
	case *embedded.Server:
		nc, err = s.Connect(options...)
	case string:
		nc, err = nats.Connect(s, options...)
	case *nats.Conn:
		return s
	}
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// tally counts the attempts at each job. Its zero value is ready.
type tally struct {
	mu   sync.Mutex
	byID map[string]int
}

// handle is a handler that does a job.
func (y *tally) handle(_ context.Context, job *durable.Job) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.byID == nil {
		y.byID = make(map[string]int)
	}
	y.byID[job.ID]++
	return nil
}

func (y *tally) of(id string) int { y.mu.Lock(); defer y.mu.Unlock(); return y.byID[id] }

// jobs returns how many jobs there are.
func (y *tally) jobs() int { y.mu.Lock(); defer y.mu.Unlock(); return len(y.byID) }

// open opens a queue on the server, which is given as for connect.
func open(t testing.TB, server any, c durable.Config) *durable.Queue {
	t.Helper()
	if c.Name == "" {
		c.Name = "q"
	}
	if c.Grace == 0 {
		c.Grace = 1 // the tests need not wait
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	q, err := durable.Open(ctx, connect(t, server), c)
	must(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

// numbers holds the Stats and the Counts of a queue.
type numbers struct {
	durable.Stats
	durable.Counts
}

func (n numbers) String() string { return n.Stats.String() + "; here: " + n.Counts.String() }

func stats(t testing.TB, q *durable.Queue) (numbers, error) {
	s, err := q.Stats(t.Context())
	return numbers{s, q.Counts()}, err
}

// work runs Work until stop is called or the test ends. stop waits until Work has returned.
func work(t testing.TB, q *durable.Queue, workers int, handler func(context.Context, *durable.Job) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, workers, handler) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Work: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// letters returns the queue's dead letters. A busy machine may not respond in time; then it asks again.
func letters(t testing.TB, q *durable.Queue) []*durable.DeadLetter {
	t.Helper()
	for {
		dead, err := q.Dead().Collect(t.Context())
		if !errors.Is(err, durable.ErrUnreachable) {
			must(t, err)
			return dead
		}
	}
}

func put(t testing.TB, q *durable.Queue, data string, options ...durable.PutOption) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // on a busy machine
	defer cancel()
	id, err := q.Put(ctx, []byte(data), options...)
	must(t, err)
	return id
}

// putAgain puts a job until it is stored, and reports whether it was stored before. Put gives up after a while; the id
// makes it safe to put again.
func putAgain(t testing.TB, q *durable.Queue, id, data string) (exists bool) {
	err := durable.ErrNotStored
	for errors.Is(err, durable.ErrNotStored) {
		_, err = q.Put(t.Context(), []byte(data), durable.PutID(id))
	}
	if exists = errors.Is(err, durable.ErrExists); err != nil && !exists {
		t.Errorf("put %s: %v", id, err)
	}
	return exists
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// soon waits until ok returns true, for at most ten seconds, and reports whether it did.
func soon(ok func() bool) bool {
	end := time.Now().Add(10 * time.Second)
	for !ok() && time.Now().Before(end) {
		time.Sleep(5 * time.Millisecond)
	}
	return ok()
}

// untilEmpty waits until only dead letters are left in the queue, for two minutes after the last change.
func untilEmpty(t testing.TB, q *durable.Queue) {
	t.Helper()
	var last durable.Stats
	for since := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if isEmpty(t, q)() {
			return
		}
		s, err := q.Stats(t.Context())
		switch {
		case time.Since(since) > 2*time.Minute:
			t.Fatalf("the queue is not empty, and the same for two minutes: %v, %v", s, err)
		case err == nil && s != last:
			since, last = time.Now(), s
		}
	}
}

// isEmpty returns a function that reports whether only dead letters are left in the queue. It asks three times, because
// a job that moves while Stats runs may not be counted.
func isEmpty(t testing.TB, q *durable.Queue) func() bool {
	return func() bool {
		for range 3 {
			if s, err := stats(t, q); err != nil || s.Ready+s.Running+s.Later > 0 {
				return false
			}
		}
		return true
	}
}

// isReady returns a function that reports whether n jobs, and no others, wait for a worker.
func isReady(t testing.TB, q *durable.Queue, n int) func() bool {
	return func() bool {
		s, err := stats(t, q)
		return err == nil && s.Ready == n && s.Running+s.Later == 0
	}
}

func TestAJobIsAttemptedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	srv := start(t)
	delays := []time.Duration{0, 20 * time.Millisecond, 1200 * time.Millisecond}
	q := open(t, srv, durable.Config{Policy: retry.New(backoff.Table(delays...))})
	id := put(t, q, "hello")

	type seen struct {
		at        time.Time
		id, data  string
		attempt   int
		lastError string
		put       time.Time
	}
	var attempts []seen
	done := make(chan struct{})
	work(t, q, 2, func(_ context.Context, job *durable.Job) error {
		attempts = append(attempts, seen{time.Now(), job.ID, string(job.Data), job.Attempt, job.LastError, job.Put})
		if len(attempts) == 4 {
			close(done)
			return nil
		}
		return fmt.Errorf("failure %d", len(attempts))
	})
	<-done
	untilEmpty(t, q)
	for i, a := range attempts {
		if a.id != id || a.data != "hello" || a.attempt != i+1 || !a.put.Equal(attempts[0].put) {
			t.Errorf("attempt %d: got %+v, want job %s, put %v", i+1, a, id, attempts[0].put)
		}
		if i == 0 {
			continue
		}
		if want := fmt.Sprintf("failure %d", i); a.lastError != want {
			t.Errorf("attempt %d: LastError is %q, want %q", i+1, a.lastError, want)
		}
		if got := a.at.Sub(attempts[i-1].at); got < delays[i-1] {
			t.Errorf("attempt %d came %v after the failure, want at least %v", i+1, got, delays[i-1])
		}
	}
	s, err := stats(t, q)
	if err != nil || s.Put != 1 || s.Attempts != 4 || s.Retried != 3 || s.Done != 1 || s.Dead != 0 {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestThePolicyDecides(t *testing.T) {
	t.Parallel()
	srv := start(t)
	refused := errors.New("refused")
	q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(2),
		retry.If(func(err error) bool { return !errors.Is(err, refused) }))})
	var attempts sync.Map
	work(t, q, 4, func(_ context.Context, job *durable.Job) error {
		n, _ := attempts.LoadOrStore(job.ID, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		switch job.ID {
		case "limit":
			return errors.New("always")
		case "permanent":
			return retry.Permanent(errors.New("no such user"))
		case "refused":
			return refused
		case "panic":
			panic("poison")
		}
		return nil
	})
	want := map[string]struct {
		attempts int
		cause    string
		err      string
	}{
		"limit":     {3, "limit of 2 retries", "always"},
		"permanent": {1, "permanent", "no such user"},
		"refused":   {1, "permanent", "refused"},
		"panic":     {3, "limit of 2 retries", "panic: poison"},
		"fine":      {},
	}
	for id := range want {
		put(t, q, "data of "+id, durable.PutID(id))
	}
	untilEmpty(t, q)
	dead := letters(t, q)
	if len(dead) != 4 {
		t.Errorf("%d dead letters, want 4: %v", len(dead), dead)
	}
	for _, d := range dead {
		w := want[d.ID]
		n, _ := attempts.Load(d.ID)
		if d.Attempts != w.attempts || int(n.(*atomic.Int64).Load()) != w.attempts || d.Cause != w.cause || string(d.Data) != "data of "+d.ID {
			t.Errorf("%s: got %+v after %d attempts, want %+v", d.ID, d, n.(*atomic.Int64).Load(), w)
		}
		if len(d.Err) < len(w.err) || d.Err[:len(w.err)] != w.err {
			t.Errorf("%s: Err is %q, want %q", d.ID, d.Err, w.err)
		}
		if d.Put.IsZero() || d.FirstFailure.Before(d.Put) || d.Died.Before(d.FirstFailure) {
			t.Errorf("%s: put %v, first failure %v, died %v", d.ID, d.Put, d.FirstFailure, d.Died)
		}
	}
}
