package embedded_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/durable"
)

func TestPutTwiceWithOneIDIsOneJob(t *testing.T) {
	q := open(t, durable.Config{Server: start(t)})
	for range 3 {
		if id := put(t, q, "once", durable.PutID("order 4711/ä.*>")); id != "order 4711/ä.*>" {
			t.Errorf("got id %q", id)
		}
	}
	if a, b := put(t, q, "x"), put(t, q, "x"); a == b || a == "" {
		t.Errorf("two jobs without an id got %q and %q", a, b)
	}
	s, err := q.Stats(t.Context())
	if err != nil || s.Ready != 3 || s.Put != 5 || s.Duplicates != 2 {
		t.Errorf("got %v, %v, want 3 ready, 2 duplicates", s, err)
	}
}

func TestAnIDOfAnyLettersGoesThroughRetriesAndDeath(t *testing.T) {
	q := open(t, durable.Config{Server: start(t), Policy: crashPolicy})
	const id = "order 4711/ä.*> = end"
	put(t, q, "data", durable.PutID(id))
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID != id {
			t.Errorf("attempt %d has id %q, want %q", job.Attempt, job.ID, id)
		}
		return errors.New("line one\r\nline two: ☃ \xff")
	})
	eventually(t, "the queue is empty", isEmpty(t, q))
	dead, err := q.Dead().Collect(t.Context())
	if err != nil || len(dead) != 1 || dead[0].ID != id || dead[0].Err != "line one\r\nline two: ☃ \uFFFD" || dead[0].Attempts != 4 {
		t.Fatalf("got %+v, %v", dead, err)
	}
}

func TestPutAtIsNotEarly(t *testing.T) {
	for _, schedules := range []bool{true, false} {
		q := open(t, durable.Config{Server: start(t), NoSchedules: !schedules})
		due := make(map[string]time.Time)
		var mu sync.Mutex
		at := func(after time.Duration) {
			when := time.Now().Add(after)
			mu.Lock()
			defer mu.Unlock()
			id, err := q.PutAt(t.Context(), when, []byte("later"))
			if err != nil {
				t.Fatal(err)
			}
			due[id] = when
		}
		for _, after := range []time.Duration{-time.Hour, 0, 30 * time.Millisecond, 300 * time.Millisecond, 1300 * time.Millisecond} {
			at(after)
		}
		work(t, q, 4, func(_ context.Context, job *durable.Job) error {
			mu.Lock()
			defer mu.Unlock()
			if by := time.Since(due[job.ID]); by < 0 {
				t.Errorf("schedules %v: a job came %v early", schedules, -by)
			}
			delete(due, job.ID)
			return nil
		})
		eventually(t, "all jobs are done", func() bool { mu.Lock(); defer mu.Unlock(); return len(due) == 0 })
	}
}

func TestPutRefuses(t *testing.T) {
	q := open(t, durable.Config{Server: start(t), MaxPayload: 100})
	_, err := q.Put(t.Context(), make([]byte, 101))
	if !errors.Is(err, durable.ErrTooLarge) || !strings.Contains(err.Error(), "101 bytes, the limit is 100") {
		t.Errorf("too large: %v", err)
	}
	if _, err := q.Put(t.Context(), make([]byte, 100)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := q.Put(t.Context(), nil, durable.PutID(strings.Repeat("x", 257))); err == nil || !strings.Contains(err.Error(), "257 bytes") {
		t.Errorf("long id: %v", err)
	}
	for _, bad := range []string{" x", "x ", "a\nb", "a\x00b", "\xff"} {
		if _, err := q.Put(t.Context(), nil, durable.PutID(bad)); err == nil || !strings.Contains(err.Error(), "want UTF-8") {
			t.Errorf("id %q: %v", bad, err)
		}
	}
	if _, err := q.PutAt(t.Context(), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), nil); err == nil || !strings.Contains(err.Error(), "12000") {
		t.Errorf("far time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Put(ctx, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, durable.ErrNotStored) {
		t.Errorf("cancelled: %v", err)
	}
	q.Close()
	if _, err := q.Put(t.Context(), nil); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := q.Work(t.Context(), 1, func(context.Context, *durable.Job) error { return nil }); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("Work on a closed queue: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// The largest payload that is taken must have room for what its failures add to it.
func TestTheLargestPayloadCanFailAndDie(t *testing.T) {
	q := open(t, durable.Config{Server: start(t), Policy: crashPolicy})
	largest := make([]byte, 1<<20-8<<10)
	if _, err := q.Put(t.Context(), append(largest, 0)); !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	id := strings.Repeat("ä=", 85)
	if _, err := q.Put(t.Context(), largest, durable.PutID(id)); err != nil {
		t.Fatal(err)
	}
	work(t, q, 1, func(context.Context, *durable.Job) error {
		panic(strings.Repeat("a very long text \x01 ", 10_000))
	})
	eventually(t, "the queue is empty", isEmpty(t, q))
	dead, err := q.Dead().Collect(t.Context())
	if err != nil || len(dead) != 1 || len(dead[0].Data) != len(largest) || dead[0].ID != id || !strings.HasPrefix(dead[0].Err, "panic: a very long") {
		t.Fatalf("got %d dead letters, %v", len(dead), err)
	}
}
