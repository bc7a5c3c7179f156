package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// stateIs returns a function that reports whether the job has the state.
func stateIs(t *testing.T, q *durable.Queue, id string, want durable.JobState) func() bool {
	return func() bool {
		info, err := q.Get(t.Context(), id)
		return err == nil && info.State == want
	}
}

// A job is cancelled while it is ready, waits, and runs. It is not attempted again, and its id is known.
func TestCancelAJob(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: time.Second, Remember: time.Hour, Policy: retry.New(backoff.Constant(1100 * time.Millisecond).Jitter(jitter.None))})
	put(t, q, "", durable.PutID("ready"))
	_, err := q.PutAt(t.Context(), time.Now().Add(1500*time.Millisecond), nil, durable.PutID("later"))
	must(t, err)
	for _, id := range []string{"ready", "later"} {
		if err := q.Cancel(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if err := q.Cancel(t.Context(), id); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("%s again: %v", id, err)
		}
	}
	for _, id := range []string{"running", "failed", "other"} {
		put(t, q, "", durable.PutID(id))
	}
	begun, release := make(chan struct{}), make(chan struct{})
	began := time.Now()
	var mu sync.Mutex
	var attempts []string
	work(t, q, 2, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		attempts = append(attempts, job.ID)
		mu.Unlock()
		switch job.ID {
		case "running":
			close(begun)
			<-release
			return errors.New("no")
		case "failed":
			return errors.New("no")
		}
		return nil
	})
	<-begun
	eventually(t, "one waits", stateIs(t, q, "failed", durable.StateLater))
	for _, id := range []string{"running", "failed"} {
		if err := q.Cancel(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	isLate := time.Since(began) > time.Second
	close(release)
	untilEmpty(t, q)
	time.Sleep(1500 * time.Millisecond) // the waits are over
	untilEmpty(t, q)
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(attempts)
	// If a busy machine is late, a job may have been due again before it was cancelled.
	if got := fmt.Sprint(attempts); got != "[failed other running]" && (!isLate || fmt.Sprint(slices.Compact(attempts)) != "[failed other running]") {
		t.Errorf("attempts at %s, want one each of failed, other, running", got)
	}
	for _, id := range []string{"ready", "later", "running", "failed"} {
		if _, err := q.Put(t.Context(), nil, durable.PutID(id)); !errors.Is(err, durable.ErrExists) {
			t.Errorf("%s is put again: %v", id, err)
		}
	}
	if dead := deadIDs(t, q); len(dead) > 0 {
		t.Errorf("dead letters: %v", dead)
	}
}

// No job is delivered during a pause, and all are after it.
func TestPauseAQueue(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	if err := q.Unpause(t.Context()); err != nil {
		t.Errorf("there is no pause: %v", err)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	must(t, q.Pause(t.Context(), until))
	if at, err := q.Paused(t.Context()); err != nil || !at.Equal(until) {
		t.Errorf("paused until %v, %v, want %v", at, err, until)
	}
	var attempts atomic.Int64
	work(t, q, 2, func(context.Context, *durable.Job) error { attempts.Add(1); return nil })
	for range 10 {
		put(t, q, "")
	}
	time.Sleep(300 * time.Millisecond)
	if n := attempts.Load(); n != 0 {
		t.Errorf("%d attempts during the pause", n)
	}
	must(t, q.Unpause(t.Context()))
	eventually(t, "all are done", func() bool { return q.Counts().Done == 10 })
	if at, err := q.Paused(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("paused until %v, %v", at, err)
	}
}

// A job copies rows. It fails with a short wait and with a long one, its worker is stopped, it dies and is revived.
// Only the rows at which it has failed are copied twice.
func TestResumeInAJob(t *testing.T) {
	t.Parallel()
	srv := start(t)
	c := durable.Config{Lease: time.Second, Policy: retry.New(backoff.Table(20*time.Millisecond, 1050*time.Millisecond).Jitter(jitter.None), retry.Limit(2))}
	const rows = 60
	var mu sync.Mutex
	var copied []int
	stopped := make(chan struct{})
	handler := func(ctx context.Context, job *durable.Job) error {
		rowsAfter := func(at int) stream.Stream[int] { return stream.Range(at+1, rows-at) }
		return durable.Resume(job, 0, rowsAfter, func(_, row int) int { return row }).TryForEach(ctx, func(ctx context.Context, row int) error {
			mu.Lock()
			n := len(copied) + 1
			mu.Unlock()
			switch {
			case n == 45:
				select {
				case <-stopped:
				default:
					close(stopped)
					<-ctx.Done()
					return ctx.Err()
				}
			case n == 10 || n == 20 || n == 30:
				mu.Lock()
				defer mu.Unlock()
				copied = append(copied, row)
				return fmt.Errorf("after row %d", row)
			}
			mu.Lock()
			defer mu.Unlock()
			copied = append(copied, row)
			return nil
		})
	}
	q := open(t, srv, c)
	put(t, q, "", durable.PutID("job"))
	stop := work(t, q, 1, handler)
	eventually(t, "it is dead", stateIs(t, q, "job", durable.StateDead))
	must(t, q.Revive(t.Context(), "job"))
	<-stopped
	stop()
	work(t, open(t, srv, c), 1, handler)
	eventually(t, "it is done", stateIs(t, q, "job", durable.StateDone))
	mu.Lock()
	defer mu.Unlock()
	// The rows at which an attempt has failed were not taken, so they come again.
	if all := slices.Compact(slices.Sorted(slices.Values(copied))); len(all) != rows || len(copied) != rows+3 {
		t.Errorf("copied %v", copied)
	}
}

// A job that a worker has fetched ahead is not attempted when Cancel has returned, and Cancel does not wait for half a
// lease. It is tried again if the worker hands jobs back before that, for which Cancel waits, or does not fetch them, as on
// a busy machine.
func TestCancel_FetchedAhead(t *testing.T) {
	t.Parallel()
	for tries := 1; !cancelsFetchedAhead(t); tries++ {
		if tries == 20 {
			t.Fatal("the worker did not fetch jobs ahead and keep them, twenty times")
		}
	}
}

func cancelsFetchedAhead(t *testing.T) bool {
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
	has := soon(func() bool {
		s, err := stats(t, other)
		return err == nil && s.Running == 9
	})
	if !has {
		close(release)
		return false
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 4 {
		err := other.Cancel(ctx, fmt.Sprint(i))
		if q.Counts().HandedBack > 0 {
			close(release)
			return false
		}
		must(t, err)
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
	return true
}

// The context of a handler ends when its job is cancelled: at once, and within a quarter of a lease if the worker does
// not learn of it. What the handler then returns is dropped.
func TestCancel_WhileAHandlerHasTheJob(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(*testing.T, jetstream.JetStream, *durable.Queue){
		"Cancel": func(t *testing.T, _ jetstream.JetStream, q *durable.Queue) {
			must(t, q.Cancel(t.Context(), "job"))
		},
		"the worker is not told": func(t *testing.T, js jetstream.JetStream, _ *durable.Queue) {
			publish(t, js, message("retrywhen.q.job.job.mark", "", "Retrywhen-Done", "1", "Nats-TTL", "60s"))
		},
	} {
		for _, result := range []error{nil, errors.New("no"), durable.Snooze(time.Millisecond)} {
			t.Run(fmt.Sprintf("%s, %v", name, result), func(t *testing.T) {
				t.Parallel()
				srv := start(t)
				lease := time.Hour
				if name != "Cancel" {
					lease = 20 * time.Second // shorter ones may end on a busy machine
				}
				q := open(t, srv, durable.Config{Lease: lease})
				js, err := jetstream.New(connect(t, srv))
				must(t, err)
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
	must(t, other.Cancel(t.Context(), "job"))
}

// Cancel does not wait if no worker is there, or if nobody can have the job.
func TestCancel_WithoutAWorker(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: time.Hour})
	put(t, q, "", durable.PutID("delivered"))
	other := open(t, srv, durable.Config{})
	for _, err := range other.Jobs().Take(1).All(t.Context()) {
		must(t, err)
	}
	must(t, other.Close())
	must(t, q.Cancel(t.Context(), "delivered"))
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	must(t, q.Pause(t.Context(), time.Now().Add(time.Hour)))
	put(t, q, "", durable.PutID("not delivered"))
	must(t, q.Cancel(t.Context(), "not delivered"))
}

// A worker that has lost its connection cannot be asked. It begins no attempt at a job that waits there for a retry.
func TestCancel_TheWorkerIsDisconnected(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) { o.Authorization = "" }))
	u, err := url.Parse(srv.URL())
	must(t, err)
	w := newWire(t, u.Host)
	nc, c := connect(t, w.url()), durable.Config{Policy: retry.New(backoff.Constant(900 * time.Millisecond).Jitter(jitter.None))}
	q, other := open(t, nc, c), open(t, srv, c)
	var attempts atomic.Int64
	work(t, q, 1, func(context.Context, *durable.Job) error { attempts.Add(1); return errors.New("no") })
	put(t, other, "", durable.PutID("job"))
	eventually(t, "it has failed", stateIs(t, other, "job", durable.StateRunning))
	w.listener.Close()
	w.cut()
	eventually(t, "both know", func() bool { return nc.IsReconnecting() && srv.NATS().NumClients() == 1 })
	must(t, other.Cancel(t.Context(), "job"))
	before := attempts.Load()
	time.Sleep(1500 * time.Millisecond)
	if n := attempts.Load(); n != before {
		t.Errorf("%d attempts have begun after Cancel", n-before)
	}
}

// A worker that was not asked begins no attempt at a job that waits until another one, which runs alone, has ended.
func TestCancel_WhileAnotherRunsAlone(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		canceller := append([]string{"$JS.API.STREAM.MSG.DELETE.retrywhen-q"}, workerPermissions...) // it may not ask
		o.Users = []*server.User{user("worker", workerPermissions...), user("canceller", canceller...)}
	}))
	c := durable.Config{Lease: 2 * time.Second, MaxCrashes: 1}
	before := open(t, connect(t, srv, as("worker")...), c)
	put(t, before, "", durable.PutID("alone"))
	_, err := before.Jobs().Take(1).Collect(t.Context())
	must(t, err)
	before.Close() // it is delivered again
	q, other := open(t, connect(t, srv, as("worker")...), c), open(t, connect(t, srv, as("canceller")...), c)
	var attempts tally
	release, begun := make(chan struct{}), make(chan struct{})
	work(t, q, 2, func(ctx context.Context, job *durable.Job) error {
		if attempts.handle(ctx, job); job.ID == "alone" {
			close(begun)
			<-release
		}
		return nil
	})
	<-begun
	put(t, other, "", durable.PutID("job"))
	eventually(t, "the worker has both", func() bool { s, err := stats(t, other); return err == nil && s.Running == 2 })
	if err := other.Cancel(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	close(release)
	eventually(t, "the other is done", stateIs(t, other, "alone", durable.StateDone))
	time.Sleep(300 * time.Millisecond)
	if n := attempts.of("job"); n != 0 {
		t.Errorf("%d attempts, want none", n)
	}
}

// The report of an attempt of Jobs is refused when the job was cancelled, also if it was put without an id.
func TestCancel_AnAttemptOfJobs(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	id := put(t, q, "")
	for job, err := range q.Jobs().Take(1).All(t.Context()) {
		must(t, err)
		must(t, q.Cancel(t.Context(), id))
		if err := job.Done(); !errors.Is(err, durable.ErrTaken) || q.Counts().Done != 0 {
			t.Errorf("got %v, %v", err, q.Counts())
		}
	}
}
