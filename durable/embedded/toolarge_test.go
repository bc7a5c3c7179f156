package embedded_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// A server is started again with a lower limit than that of a job that it has. The job's failures count, its retries are
// not early, and at the end it is a dead letter without data.
func TestAJobBecomesTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, err := embedded.Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := durable.Config{Name: "q", Lease: time.Second, Policy: retry.New(backoff.Constant(1200*time.Millisecond), retry.Limit(2))}
	q := open(t, srv, c)
	put(t, q, strings.Repeat("x", 100<<10), durable.PutID("large"))
	q.Close()
	srv.Close()
	srv, err = embedded.Start(dir, embedded.MaxPayload(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	q = open(t, srv, c)
	var mu sync.Mutex
	var attempts []int
	var due time.Time
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		defer mu.Unlock()
		attempts = append(attempts, job.Attempt)
		if early := time.Until(due); early > 0 {
			t.Errorf("attempt %d is %v early", job.Attempt, early)
		}
		due = time.Now().Add(time.Second)
		return errors.New("no")
	})
	eventually(t, "it is dead", func() bool { return q.Counts().Died == 1 })
	untilEmpty(t, q)
	dead, err := q.Dead().Collect(t.Context())
	if err != nil || len(dead) != 1 || len(dead[0].Data) != 0 || dead[0].Attempts != 3 || dead[0].Cause != "limit of 2 retries" ||
		!strings.Contains(dead[0].Err, "no; the 102400 bytes of data exceed the server's limit") {
		t.Errorf("got %+v, %v", dead, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(attempts) != 3 || attempts[0] != 1 || attempts[1] != 2 || attempts[2] != 3 {
		t.Errorf("attempts %v, want 1, 2, 3", attempts)
	}
}
