package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

func TestJobsIsAStream(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(10*time.Millisecond), retry.Limit(1))})
	for i := range 10 {
		put(t, q, fmt.Sprint(i), durable.PutID(fmt.Sprint("job", i)))
	}
	// Every even job fails once and is then done. Every odd job fails permanently.
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
	untilEmpty(t, q)
	if s, err := stats(t, q); err != nil || s.Dead != 5 || s.Done != 5 || s.Died != 5 {
		t.Errorf("got %v, %v", s, err)
	}
}

// A job may be reported after its stream has ended. Close hands back the jobs that are never reported.
func TestJobsOutliveTheirStream(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(100 * time.Millisecond))})
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
	must(t, err)
	must(t, q.Close())
	q = open(t, srv, durable.Config{})
	got := make(map[string]int)
	jobs, err = q.Jobs().Take(2).Collect(t.Context())
	must(t, err)
	for _, job := range jobs {
		got[job.ID] = job.Attempt
		job.Done()
	}
	if len(got) != 2 || got["failed"] != 2 || got["forgotten"] != 1 {
		t.Errorf("got %v", got)
	}
	untilEmpty(t, q)
}

// A report that is under way when its stream ends still reaches the server, and the wait is kept.
func TestAReportThatOutlivesItsStream(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	d := badDialer{only: "PUB retrywhen."} // without PING: nats.go would count one PONG less, until the end
	q := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&d)), durable.Config{Policy: retry.New(backoff.Constant(time.Hour))})
	put(t, q, "")
	reported := make(chan error, 1)
	for job, err := range q.Jobs().All(t.Context()) {
		must(t, err)
		d.drop.Store(true)
		go func() { reported <- job.Fail(errors.New("no")) }()
		eventually(t, "the report is under way", func() bool { return d.dropped.Load() > 0 })
		d.drop.Store(false) // the report is lost and must be repeated
		break
	}
	must(t, <-reported)
	eventually(t, "the retry is stored", func() bool {
		s, err := stats(t, q)
		return err == nil && s.Ready == 0 && s.Running == 0 && s.Later == 1
	})
}

func TestDeadLettersAreRevivedAndForgotten(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(2))})
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
			t.Errorf("revived job %s is attempt %d with %q", job.ID, job.Attempt, job.Data)
		}
		if job.ID == "7" && attempts.Load() > 0 {
			return retry.Permanent(errors.New("still broken"))
		}
		return nil
	})
	eventually(t, "all are dead", func() bool { s, err := stats(t, q); return err == nil && s.Dead == n })
	broken.Store(false)

	three, err := q.Dead().Take(3).Collect(t.Context())
	if err != nil || len(three) != 3 {
		t.Fatal(len(three), err)
	}
	must(t, q.Forget(t.Context(), "3"))
	for _, missing := range []string{"3", "nobody"} {
		if err := q.Revive(t.Context(), missing); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("revive %s: %v", missing, err)
		}
		if err := q.Forget(t.Context(), missing); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("forget %s: %v", missing, err)
		}
	}
	for d, err := range q.Dead().All(t.Context()) {
		must(t, err)
		if d.Attempts != 3 || d.Err != "broken" {
			t.Errorf("got %+v", d)
		}
		must(t, q.Revive(t.Context(), d.ID))
	}
	untilEmpty(t, q)
	if dead := letters(t, q); len(dead) != 1 || dead[0].ID != "7" || dead[0].Attempts != 1 || dead[0].Cause != "permanent" {
		t.Errorf("got %+v", dead)
	}
	if n := attempts.Load(); n != 29 {
		t.Errorf("%d attempts, want 29", n)
	}
}

// A job is revived and dies again, perhaps before its old dead letter is removed. It has one dead letter, the new one.
func TestReviveOfAJobThatDiesAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	work(t, q, 4, func(context.Context, *durable.Job) error { return errors.New("no") })
	put(t, q, "", durable.PutID("job"))
	var died time.Time
	for range 100 {
		eventually(t, "it is dead, again", func() bool {
			dead := letters(t, q)
			if len(dead) > 1 {
				t.Fatalf("%d dead letters", len(dead))
			}
			again := len(dead) == 1 && dead[0].Died.After(died)
			if again {
				died = dead[0].Died
			}
			return again
		})
		must(t, q.Revive(t.Context(), "job"))
	}
}

func TestConcurrentRevives(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	put(t, q, "", durable.PutID("job"))
	var attempts atomic.Int64
	work(t, q, 4, func(context.Context, *durable.Job) error {
		if attempts.Add(1) == 1 {
			return errors.New("no")
		}
		return nil
	})
	eventually(t, "it is dead", func() bool { s, err := stats(t, q); return err == nil && s.Dead == 1 })
	var all sync.WaitGroup
	var revived, unknown atomic.Int64
	for range 20 {
		all.Go(func() {
			for {
				switch err := q.Revive(t.Context(), "job"); {
				case err == nil:
					revived.Add(1)
				case errors.Is(err, durable.ErrNotStored) || errors.Is(err, durable.ErrUnreachable): // the machine is slow
					unknown.Add(1)
					continue
				case !errors.Is(err, durable.ErrNotFound):
					t.Error(err)
				}
				return
			}
		})
	}
	all.Wait()
	if n := revived.Load(); n > 1 || n == 0 && unknown.Load() == 0 {
		t.Errorf("%d calls have revived it, want 1", n)
	}
	untilEmpty(t, q)
	// A letter whose job is done before Revive has deleted it stays for a moment.
	eventually(t, "there is no dead letter", func() bool { s, err := stats(t, q); return err == nil && s.Dead == 0 })
	if n := attempts.Load(); n != 2 || len(deadIDs(t, q)) > 0 {
		t.Errorf("%d attempts, want 2; dead letters: %v", n, deadIDs(t, q))
	}
}

// MaxDead limits the number of dead letters: the oldest are removed.
func TestDeadLettersAreBounded(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0)), MaxDead: 10})
	work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	for i := range 30 {
		put(t, q, "", durable.PutID(fmt.Sprint(i)))
	}
	eventually(t, "all have died", func() bool { return q.Counts().Died == 30 })
	time.Sleep(1100 * time.Millisecond) // the queue checks once per second
	put(t, q, "", durable.PutID("last"))
	eventually(t, "ten are left", func() bool { s, err := stats(t, q); return err == nil && s.Dead == 10 })
	if dead := deadIDs(t, q); dead["last"] == "" || dead["29"] == "" || dead["0"] != "" {
		t.Errorf("got %v, want the latest ten", dead)
	}
}

// KeepDead limits the age of dead letters.
func TestDeadLettersExpire(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0)), KeepDead: time.Second})
	put(t, q, "")
	work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "it is dead", func() bool { return q.Counts().Died == 1 })
	eventually(t, "it is gone", func() bool { s, err := stats(t, q); return err == nil && s.Dead == 0 })
}

// The longest times of a Config do not end at once.
func TestTheLongestTimes(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0)), KeepDead: math.MaxInt64, Remember: math.MaxInt64})
	put(t, q, "", durable.PutID("dead"))
	put(t, q, "", durable.PutID("done"))
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID == "dead" {
			return errors.New("no")
		}
		return nil
	})
	eventually(t, "both have ended", func() bool { c := q.Counts(); return c.Died+c.Done == 2 })
	time.Sleep(2500 * time.Millisecond)
	if !stateIs(t, q, "dead", durable.StateDead)() || !stateIs(t, q, "done", durable.StateDone)() {
		t.Error("the dead letter or the mark is gone")
	}
}

// When ReviveAll returns, the letters of the revived jobs are deleted.
func TestReviveAll_Deletes(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	const jobs = 500
	stop := work(t, q, 4, func(context.Context, *durable.Job) error { return errors.New("no") })
	inParallel(jobs, func(i int) { put(t, q, "", durable.PutID(fmt.Sprint(i))) })
	eventually(t, "all are dead", func() bool { return q.Counts().Died == jobs })
	stop()
	n, err := 0, durable.ErrUnreachable
	for errors.Is(err, durable.ErrUnreachable) { // as a busy machine may be
		var more int
		more, err = q.ReviveAll(t.Context(), func(d *durable.DeadLetter) bool { return d.ID != "7" })
		n += more
	}
	if s, failed := q.Stats(t.Context()); n != jobs-1 || err != nil || failed != nil || s.Dead != 1 {
		t.Errorf("revived %d, %v; then %v, %v", n, err, s, failed)
	}
	eventually(t, "all but one are ready", isReady(t, q, jobs-1))
}
