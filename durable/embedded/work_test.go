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

	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// The retry state travels with the job: here for Within and Decorrelated, across waits that the server keeps.
func TestTheRetryStateTravels(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var events []retry.Event
	policy := retry.New(backoff.Decorrelated(1000*time.Millisecond), retry.Limit(2), retry.WithRand(func() float64 { return 0.1 }),
		retry.OnRetry(func(_ context.Context, e retry.Event) { mu.Lock(); events = append(events, e); mu.Unlock() }))
	srv := start(t)
	// Two queues with the same name, as in two processes. Only one of them works at a time.
	one := open(t, srv, durable.Config{Policy: policy})
	two := open(t, srv, durable.Config{Policy: policy})
	put(t, one, "")
	no := errors.New("no")
	stop := work(t, one, 1, func(ctx context.Context, job *durable.Job) error {
		if job.Attempt > 1 {
			<-ctx.Done() // it is handed back
		}
		return no
	})
	eventually(t, "the first failure is stored", func() bool { s, err := stats(t, one); return err == nil && s.Retried == 1 })
	stop()
	work(t, two, 1, func(context.Context, *durable.Job) error { return no })
	untilEmpty(t, two)
	mu.Lock()
	defer mu.Unlock()
	// 1000 + 0.1·(3000-1000) = 1200; then 1000 + 0.1·(3600-1000) = 1260.
	if len(events) != 2 || events[0].Delay != 1200*time.Millisecond || events[1].Delay != 1260*time.Millisecond || events[1].N != 2 ||
		events[1].Elapsed < 1200*time.Millisecond {
		t.Errorf("got %+v", events)
	}
	dead := letters(t, two)
	if len(dead) != 1 || dead[0].Attempts != 3 || dead[0].Died.Sub(dead[0].FirstFailure) < 2460*time.Millisecond {
		t.Errorf("got dead letters %+v", dead)
	}
}

// A worker keeps a short wait itself. When the worker stops, the server takes over the wait with its retry state.
func TestAShortWaitOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	srv := start(t)
	policy := retry.New(backoff.Constant(900 * time.Millisecond))
	one, two := open(t, srv, durable.Config{Policy: policy}), open(t, srv, durable.Config{Policy: policy})
	put(t, one, "")
	var failed, last atomic.Int64
	stop := work(t, one, 1, func(_ context.Context, job *durable.Job) error {
		failed.Store(time.Now().UnixNano())
		last.Store(int64(job.Attempt))
		return errors.New("no")
	})
	eventually(t, "it has failed", func() bool { return one.Counts().Retried > 0 })
	stop()
	attempt := make(chan int, 1)
	work(t, two, 1, func(_ context.Context, job *durable.Job) error {
		if took := time.Since(time.Unix(0, failed.Load())); took < 900*time.Millisecond {
			t.Errorf("the retry came after %v", took)
		}
		attempt <- job.Attempt
		return nil
	})
	if n := <-attempt; n != int(last.Load())+1 {
		t.Errorf("got attempt %d after attempt %d", n, last.Load())
	}
}

// A job whose process dies is delivered again after the lease. If its process dies each time, it becomes a dead letter.
func TestAJobThatKillsItsWorkersIsAbandoned(t *testing.T) {
	t.Parallel()
	srv := start(t)
	var deliveries int
	config := durable.Config{Lease: time.Second, MaxCrashes: 2}
	put(t, open(t, srv, config), "", durable.PutID("killer"))
	for range 3 {
		nc := connect(t, srv)
		q := open(t, nc, config)
		var taken *durable.Job
		for job, err := range q.Jobs().Take(1).All(t.Context()) {
			must(t, err)
			taken = job
		}
		deliveries++
		if taken.ID != "killer" || taken.Attempt != 1 || taken.Redelivered != (deliveries > 1) {
			t.Errorf("delivery %d: got %+v", deliveries, taken)
		}
		nc.Close() // as if its process had died
	}
	q := open(t, srv, config)
	work(t, q, 1, func(context.Context, *durable.Job) error { t.Error("attempted once more"); return nil })
	untilEmpty(t, q)
	if dead := letters(t, q); len(dead) != 1 || dead[0].Cause != "abandoned" {
		t.Errorf("got %+v", dead)
	}
}

// For fast handlers jobs are fetched ahead. When a handler becomes slow, these jobs are handed back to other workers.
func TestWhatIsFetchedAheadIsHandedBack(t *testing.T) {
	t.Parallel()
	srv := start(t)
	config := durable.Config{Lease: 1500 * time.Millisecond}
	slow, quick := open(t, srv, config), open(t, srv, config)
	for range 400 {
		put(t, slow, "")
	}
	var count atomic.Int64
	release := make(chan struct{})
	work(t, slow, 1, func(ctx context.Context, _ *durable.Job) error {
		if count.Add(1) == 200 {
			<-release
		}
		return nil
	})
	eventually(t, "the slow attempt runs", func() bool { return count.Load() == 200 })
	var others atomic.Int64
	work(t, quick, 1, func(context.Context, *durable.Job) error { others.Add(1); return nil })
	eventually(t, "the other worker has all others", func() bool { return others.Load() == 200 })
	close(release)
	untilEmpty(t, quick)
	if n := count.Load(); n != 200 {
		t.Errorf("the slow worker made %d attempts, want 200", n)
	}
}

// The lease of an attempt is extended while it runs. When it ends, the worker knows that nobody else has had the job,
// and stores no mark for a job without an id.
func TestALongAttemptLeavesNoMark(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t))
	q := open(t, nc, durable.Config{Lease: 4 * time.Second})
	id := put(t, q, "")
	work(t, q, 1, func(context.Context, *durable.Job) error { time.Sleep(6 * time.Second); return nil })
	untilEmpty(t, q)
	_, s := streamOf(t, nc)
	m, err := s.GetLastMsgForSubject(t.Context(), "retrywhen.q.job."+id+".*")
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("got %v, %v, want no message", m, err)
	}
	if c := q.Counts(); c.Attempts != 1 || c.Done != 1 {
		t.Errorf("got %v, want one attempt", c)
	}
}

// A job is fetched ahead and handed back again and again, because the worker is busy. These deliveries do not count as
// crashes. It is tried again if the worker fetches nothing ahead, as on a busy machine, where quick handlers seem slow.
func TestAJobThatOnlyWaitsIsNotAbandoned(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Lease: time.Second, MaxCrashes: 1})
	release := make(chan struct{})
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) == "slow" {
			<-release
		}
		return nil
	})
	jobs, before := int64(0), int64(0)
	for handedBack := false; !handedBack && jobs < 20*52; jobs += 52 {
		for range 50 {
			put(t, q, "quick")
		}
		untilEmpty(t, q)
		before = q.Counts().HandedBack // by a busy machine
		put(t, q, "slow")
		put(t, q, "waits")
		handedBack = soon(func() bool { return q.Counts().HandedBack > before })
		time.Sleep(2 * time.Second) // once, not again and again
		release <- struct{}{}
		untilEmpty(t, q)
	}
	if s, err := stats(t, q); err != nil || s.Dead != 0 || s.Done != jobs || s.HandedBack != before+1 {
		t.Errorf("got %v, %v, want %d done, and one more than %d handed back", s, err, jobs, before)
	}
}

// A busy worker also hands back a job that it keeps for a short wait. Another worker gets the job with its retry state.
func TestAShortWaitOfABusyWorkerIsGivenAway(t *testing.T) {
	t.Parallel()
	srv := start(t)
	config := durable.Config{Lease: time.Second, Policy: retry.New(backoff.Constant(200 * time.Millisecond))}
	busy, other := open(t, srv, config), open(t, srv, config)
	put(t, busy, "", durable.PutID("fails"))
	put(t, busy, "", durable.PutID("lasts"))
	begun, release := make(chan struct{}), make(chan struct{})
	var failed atomic.Int64
	begin := sync.OnceFunc(func() { close(begun) })
	work(t, busy, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID == "fails" {
			failed.Add(1)
			return errors.New("no")
		}
		begin()
		<-release
		return nil
	})
	defer close(release)
	<-begun
	attempts := make(chan *durable.Job, 1)
	work(t, other, 1, func(_ context.Context, job *durable.Job) error { attempts <- job; return nil })
	if job := <-attempts; job.ID != "fails" || int64(job.Attempt) != failed.Load()+1 || job.LastError != "no" {
		t.Errorf("got %+v, want the attempt after %d of the job that failed", job, failed.Load())
	}
}

// The server can never store the outcome. The job is not attempted again and again without a pause.
func TestAnOutcomeThatCannotBeStoredIsNoHotLoop(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{"a retry": errors.New("no"), "a dead letter": retry.Permanent(errors.New("no"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(2 * time.Second))})
			js, _ := jetstream.New(connect(t, srv))
			publish(t, js, message("retrywhen.q.job.huge.first", string(make([]byte, 1<<20))))
			var attempts atomic.Int64
			stop := work(t, q, 1, func(context.Context, *durable.Job) error {
				attempts.Add(1)
				return outcome
			})
			eventually(t, "it is attempted", func() bool { return attempts.Load() > 0 })
			time.Sleep(1500 * time.Millisecond)
			if n := attempts.Load(); n != 1 {
				t.Errorf("%d attempts in 1.5 s, want 1", n)
			}
			stop()
		})
	}
}

func TestStoppingWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc := connect(t, "nats://127.0.0.1:"+port)
	q := open(t, nc, durable.Config{})
	put(t, q, "")
	begun := make(chan struct{})
	stop := work(t, q, 1, func(context.Context, *durable.Job) error { close(begun); return nil })
	<-begun
	server.kill()
	eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

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
	for _, d := range letters(t, q) {
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
