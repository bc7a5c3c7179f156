package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
