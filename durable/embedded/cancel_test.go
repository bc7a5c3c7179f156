package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// A job that a worker has fetched ahead is not attempted when Cancel has returned, and Cancel does not wait for half a lease.
func TestCancel_FetchedAhead(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q, other := open(t, srv, durable.Config{Lease: time.Hour}), open(t, srv, durable.Config{})
	var mu sync.Mutex
	attempted := make(map[string]bool)
	begun, release := make(chan struct{}), make(chan struct{})
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		attempted[job.ID] = true
		mu.Unlock()
		if job.ID == "slow" {
			close(begun)
			<-release
		}
		return nil
	})
	for range 200 { // so that the worker fetches ahead
		put(t, other, "")
	}
	untilEmpty(t, other)
	put(t, other, "", durable.PutID("slow"))
	for i := range 8 {
		put(t, other, "", durable.PutID(fmt.Sprint(i)))
	}
	<-begun
	eventually(t, "the worker has them", func() bool { s, err := stats(t, other); return err == nil && s.Running == 9 })
	for i := range 4 {
		if err := other.Cancel(t.Context(), fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
	}
	close(release)
	untilEmpty(t, other)
	mu.Lock()
	defer mu.Unlock()
	for i := range 8 {
		if got := attempted[fmt.Sprint(i)]; got != (i >= 4) {
			t.Errorf("job %d is attempted: %t", i, got)
		}
	}
}

// The context of a handler ends when its job is cancelled: at once, and within a quarter of a lease if the worker does not
// learn of it. What the handler then returns is dropped.
func TestCancel_WhileAHandlerHasTheJob(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(*testing.T, jetstream.JetStream, *durable.Queue){
		"Cancel": func(t *testing.T, _ jetstream.JetStream, q *durable.Queue) {
			if err := q.Cancel(t.Context(), "job"); err != nil {
				t.Error(err)
			}
		},
		"the worker is not told": func(t *testing.T, js jetstream.JetStream, _ *durable.Queue) {
			if _, err := js.PublishMsg(t.Context(), message("retrywhen.q.job.job.mark", "", "Retrywhen-Done", "1", "Nats-TTL", "60s")); err != nil {
				t.Error(err)
			}
		},
	} {
		for _, result := range []error{nil, errors.New("no"), durable.Snooze(time.Millisecond)} {
			t.Run(fmt.Sprintf("%s, %v", name, result), func(t *testing.T) {
				t.Parallel()
				srv := start(t)
				lease := time.Hour
				if name != "Cancel" {
					lease = time.Second
				}
				q := open(t, srv, durable.Config{Lease: lease})
				js, err := jetstream.New(connect(t, srv))
				if err != nil {
					t.Fatal(err)
				}
				put(t, q, "", durable.PutID("job"))
				begun, ended := make(chan struct{}, 9), make(chan error, 9)
				stop := work(t, q, 1, func(ctx context.Context, _ *durable.Job) error {
					begun <- struct{}{}
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return result
				})
				<-begun
				cancel(t, js, q)
				if err := <-ended; err != durable.ErrCancelled {
					t.Errorf("the cause is %v", err)
				}
				stop()
				if c := q.Counts(); c.Attempts != 1 || c.Done+c.Retried+c.Died+c.HandedBack != 0 {
					t.Errorf("got %v", c)
				}
				if !stateIs(t, q, "job", durable.StateDone)() {
					t.Error("it is not done")
				}
			})
		}
	}
}

// A worker with the documented permissions responds to a user with those for Cancel.
func TestCancel_Permissions(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		canceller := append([]string{"retrywhen.q.cancel", "$JS.API.STREAM.MSG.DELETE.retrywhen-q"}, workerPermissions...)
		o.Users = []*server.User{user("worker", workerPermissions...), user("canceller", canceller...)}
	}))
	c := durable.Config{Lease: time.Hour}
	q, other := open(t, connect(t, srv, as("worker")...), c), open(t, connect(t, srv, as("canceller")...), c)
	put(t, other, "", durable.PutID("job"))
	begun := make(chan struct{}, 9)
	work(t, q, 1, func(ctx context.Context, _ *durable.Job) error { begun <- struct{}{}; <-ctx.Done(); return nil })
	<-begun
	if err := other.Cancel(t.Context(), "job"); err != nil {
		t.Error(err)
	}
}

// Cancel does not wait if no worker is there, or if nobody can have the job.
func TestCancel_WithoutAWorker(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: time.Hour})
	put(t, q, "", durable.PutID("delivered"))
	other := open(t, srv, durable.Config{})
	for _, err := range other.Jobs().Take(1).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := q.Cancel(t.Context(), "delivered"); err != nil {
		t.Error(err)
	}
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	if err := q.Pause(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	put(t, q, "", durable.PutID("not delivered"))
	if err := q.Cancel(t.Context(), "not delivered"); err != nil {
		t.Error(err)
	}
}
