package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestJobsIsAStream(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, durable.Config{Server: srv, Policy: retry.New(backoff.Constant(10*time.Millisecond), retry.Limit(1))})
	for i := range 10 {
		put(t, q, fmt.Sprint(i), durable.PutID(fmt.Sprint("job", i)))
	}
	// Every even job fails once and is done, every odd one fails for good.
	var attempts int
	err := q.Jobs().Take(20).ForEach(t.Context(), func(job *durable.Job) {
		attempts++
		i := int(job.Data[0] - '0')
		var err error
		switch {
		case job.Attempt == 1, i%2 == 1:
			err = job.Fail(errors.New("no"))
		default:
			err = job.Done()
		}
		if err != nil {
			t.Error(err)
		}
		if err := job.Done(); !errors.Is(err, durable.ErrSettled) {
			t.Errorf("reported twice: %v", err)
		}
	})
	if err != nil || attempts != 20 {
		t.Errorf("got %d attempts, %v", attempts, err)
	}
	eventually(t, "the queue is empty", isEmpty(t, q))
	if s, err := q.Stats(t.Context()); err != nil || s.Dead != 5 || s.Done != 5 || s.Died != 5 {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestJobsWithOperators(t *testing.T) {
	t.Parallel()
	q := open(t, durable.Config{Server: start(t)})
	for i := range 50 {
		put(t, q, fmt.Sprint(i))
	}
	var most, now atomic.Int64
	handled := operators.FlatMap(q.Jobs().Take(50), 4, func(job *durable.Job) stream.Stream[string] {
		return stream.FromFunc(func(context.Context) (string, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return job.ID, job.Done()
		})
	})
	ids, err := handled.Collect(t.Context())
	if err != nil || len(ids) != 50 {
		t.Errorf("got %d, %v", len(ids), err)
	}
	eventually(t, "the queue is empty", isEmpty(t, q))
	if most.Load() > 4 {
		t.Errorf("%d at a time, want at most 4", most.Load())
	}
}

func TestJobsEnds(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, durable.Config{Server: srv})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if err := q.Jobs().ForEach(ctx, func(*durable.Job) {}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { q.Close() })
	if err := q.Jobs().ForEach(t.Context(), func(*durable.Job) {}); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := q.Jobs().ForEach(t.Context(), func(*durable.Job) {}); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("closed before: %v", err)
	}
}

// A job may be reported after its stream has ended; what nobody reports Close hands back.
func TestJobsOutliveTheirStream(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, durable.Config{Server: srv, Policy: retry.New(backoff.Constant(100 * time.Millisecond))})
	for _, id := range []string{"done", "failed", "forgotten"} {
		put(t, q, "", durable.PutID(id))
	}
	jobs, err := q.Jobs().Take(3).Collect(t.Context())
	if err != nil || len(jobs) != 3 {
		t.Fatal(len(jobs), err)
	}
	for _, job := range jobs {
		switch job.ID {
		case "done":
			err = errors.Join(err, job.Done())
		case "failed":
			err = errors.Join(err, job.Fail(errors.New("no")))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = open(t, durable.Config{Server: srv})
	got := make(map[string]int)
	jobs, err = q.Jobs().Take(2).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		got[job.ID] = job.Attempt
		job.Done()
	}
	if len(got) != 2 || got["failed"] != 2 || got["forgotten"] != 1 {
		t.Errorf("got %v", got)
	}
	eventually(t, "the queue is empty", isEmpty(t, q))
}

// A report that is under way when its stream ends still gets through, and the wait is kept.
func TestAReportThatOutlivesItsStream(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	var d deafener
	q := open(t, durable.Config{URL: srv.URL(), NATS: []nats.Option{nats.SetCustomDialer(&d)}, Policy: retry.New(backoff.Constant(time.Hour))})
	put(t, q, "")
	reported := make(chan error, 1)
	for job, err := range q.Jobs().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		d.deaf.Store(true)
		go func() { reported <- job.Fail(errors.New("no")) }()
		eventually(t, "the report is under way", func() bool { return d.dropped.Load() > 0 })
		d.deaf.Store(false) // it is lost, and has to be made again
		break
	}
	if err := <-reported; err != nil {
		t.Error(err)
	}
	eventually(t, "the retry is stored", func() bool {
		s, err := q.Stats(t.Context())
		return err == nil && s.Ready == 0 && s.Running == 0 && s.Later == 1
	})
}

func TestDeadLettersAreRevivedAndForgotten(t *testing.T) {
	t.Parallel()
	q := open(t, durable.Config{Server: start(t), Policy: retry.New(backoff.Backoff{}, retry.Limit(2))})
	const n = 30
	var broken atomic.Bool
	broken.Store(true)
	for i := range n {
		put(t, q, fmt.Sprint("data ", i), durable.PutID(fmt.Sprint(i)))
	}
	var attempts atomic.Int64
	work(t, q, 4, func(_ context.Context, job *durable.Job) error {
		if broken.Load() {
			return errors.New("broken")
		}
		attempts.Add(1)
		if job.Attempt != 1 || string(job.Data) != "data "+job.ID {
			t.Errorf("revived job %s comes as attempt %d with %q", job.ID, job.Attempt, job.Data)
		}
		if job.ID == "7" && attempts.Load() > 0 {
			return retry.Permanent(errors.New("still broken"))
		}
		return nil
	})
	eventually(t, "all are dead", func() bool { s, err := q.Stats(t.Context()); return err == nil && s.Dead == n })
	broken.Store(false)

	three, err := q.Dead().Take(3).Collect(t.Context())
	if err != nil || len(three) != 3 {
		t.Fatal(len(three), err)
	}
	if err := q.Forget(t.Context(), "3"); err != nil {
		t.Error(err)
	}
	for _, missing := range []string{"3", "nobody"} {
		if err := q.Revive(t.Context(), missing); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("revive %s: %v", missing, err)
		}
		if err := q.Forget(t.Context(), missing); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("forget %s: %v", missing, err)
		}
	}
	for d, err := range q.Dead().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Attempts != 3 || d.Err != "broken" {
			t.Errorf("got %+v", d)
		}
		if err := q.Revive(t.Context(), d.ID); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the queue is empty", isEmpty(t, q))
	dead, err := q.Dead().Collect(t.Context())
	if err != nil || len(dead) != 1 || dead[0].ID != "7" || dead[0].Attempts != 1 || dead[0].Cause != "permanent" {
		t.Errorf("got %+v, %v", dead, err)
	}
	if n := attempts.Load(); n != 29 {
		t.Errorf("%d attempts, want 29", n)
	}
}

// A job that is revived and dies again, perhaps before its old dead letter is removed, has one dead letter: the new one.
func TestReviveOfWhatDiesAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, durable.Config{Server: start(t), Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	work(t, q, 4, func(context.Context, *durable.Job) error { return errors.New("no") })
	put(t, q, "", durable.PutID("job"))
	var died time.Time
	for range 100 {
		eventually(t, "it is dead, again", func() bool {
			dead, err := q.Dead().Collect(t.Context())
			if err != nil || len(dead) > 1 {
				t.Fatalf("%d dead letters, %v", len(dead), err)
			}
			again := len(dead) == 1 && dead[0].Died.After(died)
			if again {
				died = dead[0].Died
			}
			return again
		})
		if err := q.Revive(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReviveByManyAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, durable.Config{Server: start(t), Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	put(t, q, "", durable.PutID("job"))
	var attempts atomic.Int64
	work(t, q, 4, func(context.Context, *durable.Job) error {
		if attempts.Add(1) == 1 {
			return errors.New("no")
		}
		return nil
	})
	eventually(t, "it is dead", func() bool { s, err := q.Stats(t.Context()); return err == nil && s.Dead == 1 })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := q.Revive(t.Context(), "job"); err != nil && !errors.Is(err, durable.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	eventually(t, "the queue is empty", isEmpty(t, q))
	if s, err := q.Stats(t.Context()); err != nil || s.Dead != 0 || attempts.Load() != 2 {
		t.Errorf("%d attempts, want 2; %v, %v", attempts.Load(), s, err)
	}
}
