package embedded_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

func TestPutTwiceWithTheSameID(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	for i := range 3 {
		id, err := q.Put(t.Context(), []byte("once"), durable.PutID("order 4711/ä.*>"))
		if id != "order 4711/ä.*>" || errors.Is(err, durable.ErrExists) != (i > 0) || i == 0 && err != nil {
			t.Errorf("got id %q, %v", id, err)
		}
	}
	if a, b := put(t, q, "x"), put(t, q, "x"); a == b || a == "" {
		t.Errorf("two jobs without an id got %q and %q", a, b)
	}
	eventually(t, "3 are ready", isReady(t, q, 3))
	if s, err := stats(t, q); err != nil || s.Later != 0 || s.Put != 3 || s.Duplicates != 2 {
		t.Errorf("got %v, %v, want 3 put, 2 duplicates", s, err)
	}
}

func TestAnIDOfAnyLettersGoesThroughRetriesAndDeath(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: crashPolicy})
	const id = "order 4711/ä.*> = end"
	put(t, q, "data", durable.PutID(id))
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID != id {
			t.Errorf("attempt %d has id %q, want %q", job.Attempt, job.ID, id)
		}
		return errors.New("line one\r\nline two: ☃ \xff")
	})
	untilEmpty(t, q)
	if dead := letters(t, q); len(dead) != 1 || dead[0].ID != id || dead[0].Err != "line one\r\nline two: ☃ \uFFFD" || dead[0].Attempts != 4 {
		t.Fatalf("got %+v", dead)
	}
}

func TestPutAtIsNotEarly(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	due := make(map[string]time.Time)
	var mu sync.Mutex
	at := func(after time.Duration) {
		when := time.Now().Add(after)
		mu.Lock()
		defer mu.Unlock()
		id, err := q.PutAt(t.Context(), when, []byte("later"))
		must(t, err)
		due[id] = when
	}
	for _, after := range []time.Duration{-time.Hour, 0, 30 * time.Millisecond, 300 * time.Millisecond, 1300 * time.Millisecond} {
		at(after)
	}
	work(t, q, 4, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		defer mu.Unlock()
		if by := time.Since(due[job.ID]); by < 0 {
			t.Errorf("a job came %v early", -by)
		}
		delete(due, job.ID)
		return nil
	})
	eventually(t, "all jobs are done", func() bool { mu.Lock(); defer mu.Unlock(); return len(due) == 0 })
}

// The largest payload that Put accepts leaves room for the headers of its failures.
func TestTheLargestPayloadCanFailAndDie(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: crashPolicy})
	largest := make([]byte, 1<<20-8<<10)
	if _, err := q.Put(t.Context(), append(largest, 0)); !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	id := strings.Repeat("ä=", 85)
	put(t, q, string(largest), durable.PutID(id))
	work(t, q, 1, func(context.Context, *durable.Job) error {
		panic(strings.Repeat("a very long text \x01 ", 10_000))
	})
	untilEmpty(t, q)
	dead := letters(t, q)
	if len(dead) != 1 || len(dead[0].Data) != len(largest) || dead[0].ID != id || !strings.HasPrefix(dead[0].Err, "panic: a very long") {
		t.Fatalf("got %d dead letters", len(dead))
	}
}

// The server cannot schedule waits of centuries. Such jobs wait nevertheless.
func TestFarTimes(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{})})
	put(t, q, "retry", durable.PutID("week"))
	put(t, q, "retry", durable.PutID("longest"))
	for _, year := range []int{2200, 2262, 2263, 3000, 9999} {
		if _, err := q.PutAt(t.Context(), time.Date(year, 12, 1, 0, 0, 0, 0, time.UTC), []byte("later")); err != nil {
			t.Errorf("year %d: %v", year, err)
		}
	}
	stop := work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) != "retry" || job.Attempt > 1 {
			t.Errorf("attempt %d of %s came early", job.Attempt, job.ID)
			return nil
		}
		if job.ID == "week" {
			return retry.RetryAfter(errors.New("no"), 7*24*time.Hour)
		}
		return retry.RetryAfter(errors.New("no"), math.MaxInt64)
	})
	eventually(t, "both have failed", func() bool { s, err := stats(t, q); return err == nil && s.Retried == 2 && s.Later == 7 })
	time.Sleep(500 * time.Millisecond) // meanwhile no job is attempted, and none is delivered again and again
	stop()
	if s, err := stats(t, q); err != nil || s.Later != 7 || s.Ready+s.Running != 0 || s.HandedBack != 0 {
		t.Errorf("got %v, %v", s, err)
	}
}

// While a job exists, in any stage, a Put with its id replaces nothing. When the job is done, its id is remembered for
// a while. That holds across restarts of the server, killed or not.
func TestAnIDIsKnownOverRestarts(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	url := "nats://127.0.0.1:" + port
	q := open(t, url, durable.Config{Policy: retry.New(backoff.Constant(time.Hour))})
	put(t, q, "data", durable.PutID("done"))
	put(t, q, "data", durable.PutID("fails"))
	put(t, q, "data", durable.PutID("dies"))
	stop := work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		switch job.ID {
		case "fails":
			return errors.New("no")
		case "dies":
			return retry.Permanent(errors.New("no"))
		}
		return nil
	})
	eventually(t, "all are attempted", func() bool {
		s, err := stats(t, q)
		return err == nil && s.Done == 1 && s.Later == 1 && s.Dead == 1 && s.Running == 0
	})
	stop()
	put(t, q, "data", durable.PutID("waits"))
	_, err := q.PutAt(t.Context(), time.Now().Add(time.Hour), []byte("data"), durable.PutID("later"))
	must(t, err)
	all := []string{"done", "fails", "dies", "waits", "later"}
	known := func(when string) {
		t.Helper()
		for _, id := range all {
			got, err := q.Put(t.Context(), []byte("other data"), durable.PutID(id))
			if !errors.Is(err, durable.ErrExists) || got != id {
				t.Errorf("%s: %s is put again: %q, %v", when, id, got, err)
			}
			if _, err := q.PutAt(t.Context(), time.Now().Add(time.Hour), nil, durable.PutID(id)); !errors.Is(err, durable.ErrExists) {
				t.Errorf("%s: %s is put again for later: %v", when, id, err)
			}
		}
	}
	known("before")
	server.stop()
	server = spawn(t, "server", dir, port)
	known("after a restart")
	server.kill()
	spawn(t, "server", dir, port)
	known("after a kill")
	if s, err := stats(t, q); err != nil || s.Ready != 1 || s.Later != 2 || s.Dead != 1 || s.Running != 0 {
		t.Errorf("got %v, %v", s, err)
	}
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) != "data" {
			t.Errorf("the data was replaced by %q", job.Data)
		}
		return nil
	})
	eventually(t, "the job that waits is done", func() bool { return q.Counts().Done == 2 })
}

func TestAnIDIsForgottenAfterAWhile(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Lease: time.Second, Remember: time.Second})
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	put(t, q, "", durable.PutID("job"))
	eventually(t, "it is done", func() bool { return q.Counts().Done == 1 })
	if _, err := q.Put(t.Context(), nil, durable.PutID("job")); !errors.Is(err, durable.ErrExists) {
		t.Errorf("put again: %v", err)
	}
	eventually(t, "the id is free", func() bool { _, err := q.Put(t.Context(), nil, durable.PutID("job")); return err == nil })
	eventually(t, "it is done again", func() bool { return q.Counts().Done == 2 })
}

// The handler gets the headers that Put has taken, and whatever they are, the queue goes on.
func TestHeaders(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	refused := 0
	for _, header := range [][3]string{
		{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "second"}, {"a", "", "x\ty"}, {"A", "ä☃", "\"quoted\""}, {"!#$%&'*+-.^_`|~", "x:y", "\xff"},
		{"Status", "400", ""}, {"Description", "no", ""}, {"status", "400", "503"}, {"é", "x", ""}, {"x(y)", "x", ""}, {"x\x00y", "x", ""}, {"a", " x", "x "}, {"a", "x\x00", "x\x7f"},
		{"Nats-Msg-Id", "x", ""}, {"retrywhen-due", "x", ""}, {"Content-Length", "7", ""}, {"a", "x\u0085", "\u00a0x"}, {"a", "x\vy", "\u2028"},
	} {
		name, value, second := header[0], header[1], header[2]
		id, err := q.Put(t.Context(), nil, durable.PutHeader(name, value), durable.PutHeader(name, second), durable.PutHeader("last", "x"))
		if err != nil {
			refused++
			continue
		}
		for job, err := range q.Jobs().Take(1).All(t.Context()) {
			must(t, err)
			want := map[string][]string{"last": {"x"}, name: {value, second}}
			if job.ID != id || !maps.EqualFunc(job.Header, want, slices.Equal) {
				t.Errorf("got %q, want %q", job.Header, want)
			}
			must(t, job.Done())
		}
	}
	if refused != 12 {
		t.Errorf("%d were refused", refused)
	}
}

// A server is started again with a lower limit than that of a job that it has. Its failures cannot be stored with its
// data: nothing is lost, and it goes on when the limit is raised.
func TestAJobBecomesTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := durable.Config{Name: "q", Lease: time.Second, Policy: retry.New(backoff.Constant(1200*time.Millisecond), retry.Limit(2))}
	data := strings.Repeat("x", 100<<10)
	with := func(limit int32, use func(q *durable.Queue)) {
		t.Helper()
		srv, err := embedded.Start(dir, embedded.MaxPayload(limit))
		must(t, err)
		defer srv.Close()
		q := open(t, srv, c)
		defer q.Close()
		use(q)
	}
	with(0, func(q *durable.Queue) { put(t, q, data, durable.PutID("large")) })
	with(64<<10, func(q *durable.Queue) {
		defer work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })()
		eventually(t, "it was attempted three times", func() bool { return q.Counts().Attempts == 3 })
	})
	with(0, func(q *durable.Queue) {
		got := make(chan string, 10)
		defer work(t, q, 1, func(_ context.Context, job *durable.Job) error { got <- string(job.Data); return nil })()
		if text := <-got; text != data {
			t.Errorf("got %d bytes", len(text))
		}
		untilEmpty(t, q)
	})
}
