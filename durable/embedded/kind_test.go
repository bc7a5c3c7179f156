package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// Each kind has its handler and its policy, also for retries and revived jobs. Jobs without a kind go to Work's
// handler.
func TestKindsHaveHandlersAndPolicies(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	var mu sync.Mutex
	got := make(map[string]int)
	count := func(name string, job *durable.Job) {
		mu.Lock()
		defer mu.Unlock()
		got[name+" "+job.Kind]++
	}
	q.Handle("letter", retry.New(backoff.Table(10*time.Millisecond, 1100*time.Millisecond), retry.Limit(2)), func(_ context.Context, job *durable.Job) error {
		count("letter", job)
		return errors.New("no")
	})
	q.Handle("bill", retry.Policy{}, func(_ context.Context, job *durable.Job) error {
		count("bill", job)
		return errors.New("no")
	})
	for _, kind := range []string{"letter", "bill", "other"} {
		put(t, q, "", durable.PutKind(kind))
	}
	put(t, q, "")
	work(t, q, 2, func(_ context.Context, job *durable.Job) error { count("any", job); return nil })
	untilEmpty(t, q)
	kinds := make(map[string]int)
	for d, err := range q.Dead().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[d.Kind] = d.Attempts
	}
	if len(kinds) != 2 || kinds["letter"] != 3 || kinds["bill"] != 1 {
		t.Errorf("dead letters, by kind and attempts: %v", kinds)
	}
	mu.Lock()
	if want := map[string]int{"letter letter": 3, "bill bill": 1, "any other": 1, "any ": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mu.Unlock()
	if n, err := q.ReviveAll(t.Context(), func(d *durable.DeadLetter) bool { return d.Kind == "bill" }); n != 1 || err != nil {
		t.Errorf("revived %d, %v", n, err)
	}
	eventually(t, "it is attempted by its handler", func() bool { mu.Lock(); defer mu.Unlock(); return got["bill bill"] == 2 })
}

// A job whose kind has no handler in this process is left to another process.
func TestAnUnknownKindIsHandedBack(t *testing.T) {
	t.Parallel()
	srv := start(t)
	old, newer := open(t, srv, durable.Config{Lease: time.Second}), open(t, srv, durable.Config{Lease: time.Second})
	old.Handle("letter", retry.Policy{}, func(context.Context, *durable.Job) error { return nil })
	put(t, old, "", durable.PutKind("bill"))
	work(t, old, 1, nil)
	eventually(t, "it is handed back", func() bool { return old.Counts().HandedBack > 0 })
	var done atomic.Bool
	newer.Handle("bill", retry.Policy{}, func(_ context.Context, job *durable.Job) error {
		done.Store(job.Attempt == 1)
		return nil
	})
	work(t, newer, 1, nil)
	eventually(t, "the other does it, as the first attempt", done.Load)
}

// One of four processes knows the kind. The others hand its jobs back for a moment, not for a lease.
func TestAnUnknownKind_OneOfFourKnowsIt(t *testing.T) {
	t.Parallel()
	srv := start(t)
	one := open(t, srv, durable.Config{})
	one.Handle("bill", retry.Policy{}, func(context.Context, *durable.Job) error { return nil })
	for range 3 {
		q := open(t, srv, durable.Config{})
		q.Handle("letter", retry.Policy{}, func(context.Context, *durable.Job) error { return nil })
		work(t, q, 4, nil)
	}
	work(t, one, 4, nil)
	const jobs = 200
	began := time.Now()
	inParallel(jobs, func(i int) { put(t, one, "", durable.PutKind("bill")) })
	eventually(t, "all are done", func() bool { return one.Counts().Done == jobs })
	t.Logf("%d jobs took %v", jobs, time.Since(began).Round(100*time.Millisecond))
	if most := 10 * time.Second; os.Getenv("RETRYWHEN_QUIET") == "1" && time.Since(began) > most {
		t.Errorf("it took %v, want less than %v", time.Since(began), most)
	}
}

type spanKey struct{}

// The handler and the policy's hooks get the context that Config.Context returns.
func TestTheContextOfAnAttempt(t *testing.T) {
	t.Parallel()
	hooked := make(chan any, 1)
	q := open(t, start(t), durable.Config{
		Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(1), retry.OnRetry(func(ctx context.Context, _ retry.Event) { hooked <- ctx.Value(spanKey{}) })),
		Context: func(ctx context.Context, job *durable.Job) context.Context {
			return context.WithValue(ctx, spanKey{}, job.Header.Get("traceparent"))
		},
	})
	put(t, q, "", durable.PutHeader("traceparent", "00-1"))
	work(t, q, 1, func(ctx context.Context, job *durable.Job) error {
		if got := ctx.Value(spanKey{}); got != "00-1" {
			t.Errorf("attempt %d: got %v", job.Attempt, got)
		}
		if job.Attempt == 1 {
			return errors.New("no")
		}
		return nil
	})
	if got := <-hooked; got != "00-1" {
		t.Errorf("the hook got %v", got)
	}
	eventually(t, "it is done", func() bool { return q.Counts().Done == 1 })
}
