package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
)

// The lease of an attempt is extended while it runs. When it ends, the worker knows that nobody else has had the job,
// and stores no mark for a job without an id.
func TestALongAttemptLeavesNoMark(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t))
	q := open(t, nc, durable.Config{Lease: 4 * time.Second})
	id := put(t, q, "")
	work(t, q, 1, func(context.Context, *durable.Job) error { time.Sleep(6 * time.Second); return nil })
	untilEmpty(t, q)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "retrywhen-q")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "retrywhen.q.job."+id+".*")
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("got %v, %v, want no message", m, err)
	}
	if c := q.Counts(); c.Attempts != 1 || c.Done != 1 {
		t.Errorf("got %v, want one attempt", c)
	}
}
