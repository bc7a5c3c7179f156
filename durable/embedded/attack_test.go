package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// The attacks that a queue must survive. make attack runs their long forms.

// deadIDs returns the ids of the queue's dead letters with their causes.
func deadIDs(t testing.TB, q *durable.Queue) map[string]string {
	t.Helper()
	dead := make(map[string]string)
	for _, d := range letters(t, q) {
		dead[d.ID] = d.Cause
	}
	return dead
}

// A worker is silent for longer than a lease while it attempts jobs and has others in its socket. Another worker
// finishes all of them. Whatever the first one reports when it is back, no job is both done and dead, and no job is
// attempted again.
func TestAttack_ASilentWorkerReportsLate(t *testing.T) {
	t.Parallel()
	const running, fetched = 10, 8
	srv := start(t, embedded.Listen(0))
	var m badDialer
	config := durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0)), Lease: time.Second}
	silent, other := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&m)), config), open(t, srv, config)
	var begun atomic.Int64
	wake := make(chan struct{})
	stop := work(t, silent, running, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) == "quick" {
			return nil
		}
		begun.Add(1)
		<-wake
		return errors.New("the network was away")
	})
	for range 200 { // so that the worker fetches ahead
		put(t, other, "quick")
	}
	untilEmpty(t, other)
	for i := range running + fetched {
		put(t, other, "", durable.PutID(strconv.Itoa(i)))
	}
	eventually(t, "the silent worker attempts all that it can", func() bool { return begun.Load() == running })
	for range 1000 { // on a busy machine it fetches less ahead
		if s, err := stats(t, other); err == nil && s.Running == running+fetched {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	m.sending.Lock()
	var done sync.Map
	work(t, other, 4, func(_ context.Context, job *durable.Job) error { done.Store(job.ID, true); return nil })
	untilEmpty(t, other)
	m.sending.Unlock()
	close(wake)
	eventually(t, "the silent worker has no jobs", func() bool { return silent.Counts().Attempts >= running })
	stop()
	for i := range running + fetched {
		if _, ok := done.Load(strconv.Itoa(i)); !ok {
			t.Errorf("job %d is not done", i)
		}
	}
	if dead := deadIDs(t, other); len(dead) > 0 || begun.Load() != running {
		t.Errorf("%d dead letters, %d attempts by the silent worker, want none, and %d", len(dead), begun.Load(), running)
	}
}

// The same with a process that is stopped and continues. Another worker has finished the jobs in its socket.
func TestAttack_AStoppedProcessGoesOn(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	spawn(t, "server", dir, port)
	url := "nats://127.0.0.1:" + port
	q := open(t, url, durable.Config{Name: "slow", Lease: 2 * time.Second})
	journal := filepath.Join(dir, "stopped.journal")
	sleeper := spawn(t, "slow", url, journal, "4")
	const jobs = 12
	for i := range jobs {
		put(t, q, "", durable.PutID(strconv.Itoa(i)))
	}
	eventually(t, "it has begun", func() bool { text, _ := os.ReadFile(journal); return strings.Count(string(text), "begun") == 4 })
	if !pause(sleeper.cmd.Process) {
		t.Skip("this system cannot stop a process")
	}
	var done atomic.Int64
	work(t, q, 4, func(context.Context, *durable.Job) error { done.Add(1); return nil })
	eventually(t, "the other worker has finished all", func() bool { return done.Load() == jobs && isEmpty(t, q)() })
	resume(sleeper.cmd.Process)
	must(t, os.WriteFile(journal+".end", nil, 0o600))
	eventually(t, "it has ended its attempts", func() bool { text, _ := os.ReadFile(journal); return strings.Count(string(text), "ended") == 4 })
	time.Sleep(2 * time.Second) // for the jobs in its socket
	sleeper.stop()
	text, _ := os.ReadFile(journal)
	if n := strings.Count(string(text), "begun"); n != 4 || len(deadIDs(t, q)) > 0 {
		t.Errorf("the stopped worker began %d attempts, want 4; dead letters: %v", n, deadIDs(t, q))
	}
}

// slowRole is a worker whose attempts last until a file exists, and then fail permanently.
func slowRole(url, journal, workers string) int {
	return role(url, journal, durable.Config{Name: "slow", Lease: 2 * time.Second}, workers, func(f *os.File, job *durable.Job) error {
		fmt.Fprintf(f, "%s begun\n", job.ID)
		for {
			if _, err := os.Stat(journal + ".end"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprintf(f, "%s ended\n", job.ID)
		return retry.Permanent(errors.New("too late"))
	})
}

// poisonedRole is a worker that one of its jobs kills.
func poisonedRole(url, journal, workers string) int {
	return role(url, journal, durable.Config{Name: "poisoned", Lease: time.Second, MaxCrashes: 3}, workers, func(f *os.File, job *durable.Job) error {
		if job.ID == "poison" {
			fmt.Fprintln(f, "poison begun")
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
		}
		time.Sleep(20 * time.Millisecond)
		fmt.Fprintf(f, "%s done\n", job.ID)
		return nil
	})
}

// role runs a worker until the process is stopped.
func role(url, journal string, c durable.Config, workers string, handler func(*os.File, *durable.Job) error) int {
	ctx, cancel := child()
	defer cancel()
	failed := func(err error) int { fmt.Fprintln(os.Stderr, c.Name, err); return 1 }
	f, err := os.OpenFile(journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return failed(err)
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return failed(err)
	}
	defer nc.Close()
	q, err := durable.Open(ctx, nc, c)
	if err != nil {
		return failed(err)
	}
	fmt.Println("ready")
	n, _ := strconv.Atoi(workers)
	if err := q.Work(ctx, n, func(_ context.Context, job *durable.Job) error { return handler(f, job) }); err != nil {
		return failed(err)
	}
	if err := q.Close(); err != nil {
		return failed(err)
	}
	return 0
}

// One job kills its worker with each attempt. It becomes a dead letter, and no other job does, however many jobs the
// killed workers had.
func TestAttack_OnePoisonJobAmongHealthyOnes(t *testing.T) {
	t.Parallel()
	jobs := 60
	if nightly() {
		jobs = 200
	}
	dir, port := t.TempDir(), freePort(t)
	spawn(t, "server", dir, port)
	url := "nats://127.0.0.1:" + port
	q := open(t, url, durable.Config{Name: "poisoned", Lease: time.Second, MaxCrashes: 3})
	for i := range jobs {
		if i == jobs/10 {
			put(t, q, "", durable.PutID("poison"))
		}
		put(t, q, "", durable.PutID("job-"+strconv.Itoa(i)))
	}
	journal := filepath.Join(dir, "poisoned.journal")
	deaths := 0
	for end := time.Now().Add(time.Minute); ; deaths++ {
		worker := spawn(t, "poisoned", url, journal, "16")
		died := make(chan error, 1)
		go func() { died <- worker.cmd.Wait() }()
		empty := false
		for alive := true; alive && !empty; {
			select {
			case <-died:
				alive = false
			case <-time.After(50 * time.Millisecond):
				empty = isEmpty(t, q)()
			}
		}
		if empty {
			worker.cmd.Process.Signal(syscall.SIGTERM)
			<-died
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not empty after %d deaths", deaths)
		}
	}
	text, _ := os.ReadFile(journal)
	dead := deadIDs(t, q)
	for i := range jobs {
		if id := "job-" + strconv.Itoa(i); !strings.Contains(string(text), id+" done") || dead[id] != "" {
			t.Errorf("%s: not done, or a dead letter: %q", id, dead[id])
		}
	}
	t.Logf("%d deaths, dead letters %v", deaths, dead)
	if dead["poison"] != "abandoned" || len(dead) != 1 {
		t.Errorf("dead letters: %v, want only the poison job, abandoned", dead)
	}
	// The first attempt leaves no trace. Then three attempts count.
	if n := strings.Count(string(text), "poison begun"); n != 4 {
		t.Errorf("the poison job was attempted %d times, want 4", n)
	}
}

// Workers are often stopped gracefully in the middle of their attempts. No job becomes a dead letter because of that.
func TestAttack_ManyGracefulStops(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{MaxCrashes: 2})
	const jobs = 50
	for i := range jobs {
		put(t, q, "", durable.PutID(strconv.Itoa(i)))
	}
	for range 25 {
		w := open(t, srv, durable.Config{MaxCrashes: 2})
		stop := work(t, w, 8, func(ctx context.Context, _ *durable.Job) error { <-ctx.Done(); return ctx.Err() })
		eventually(t, "it has begun", func() bool { return w.Counts().Attempts == 8 })
		stop()
		w.Close()
	}
	work(t, q, 8, func(_ context.Context, job *durable.Job) error {
		if job.Attempt != 1 {
			t.Errorf("attempt %d, want 1: none has failed", job.Attempt)
		}
		return nil
	})
	eventually(t, "all are done", func() bool { return q.Counts().Done == jobs })
	if dead := deadIDs(t, q); len(dead) > 0 {
		t.Errorf("%d dead letters: %v", len(dead), dead)
	}
}

// Large jobs are fetched ahead by their size.
func TestAttack_LargeJobsAreNotHoarded(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: time.Hour}) // so that only what is handed back comes to another worker
	var blocked atomic.Bool
	release := make(chan struct{})
	work(t, q, 4, func(context.Context, *durable.Job) error {
		if blocked.Load() {
			<-release
		}
		return nil
	})
	defer close(release)
	for range 200 { // quick jobs, so that many are fetched ahead
		put(t, q, "")
	}
	untilEmpty(t, q)
	blocked.Store(true)
	before := q.Counts().HandedBack
	const jobs, size = 80, 900 << 10
	for range jobs {
		put(t, q, string(make([]byte, size)))
	}
	for range 20 {
		s, err := stats(t, q)
		held := s.Running - int(s.HandedBack-before) // the server counts for a moment what was handed back
		if err != nil || held*size > 4*size+2*(9<<20) {
			t.Fatalf("got %v, %v: %d MiB fetched ahead", s, err, held*size>>20)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// The jobs that wait behind the blocked attempts are handed back soon, whatever the lease is.
	other := open(t, srv, durable.Config{})
	work(t, other, 1, func(context.Context, *durable.Job) error { return nil })
	eventually(t, "another worker has done the jobs that waited", func() bool { return other.Counts().Done == jobs-4 })
}

// A due retry does not wait for the whole backlog, and the backlog does not wait for all retries.
func TestAttack_ABacklogDoesNotDelayRetries(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Policy: retry.New(backoff.Constant(1100 * time.Millisecond))})
	put(t, q, "fails", durable.PutID("retry"))
	for range 4000 {
		put(t, q, "")
	}
	due := make(chan time.Time, 1)
	late := make(chan time.Duration, 1)
	var fresh atomic.Int64
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID == "retry" && job.Attempt == 1 {
			due <- time.Now().Add(1100 * time.Millisecond)
			return errors.New("no")
		}
		if job.ID == "retry" {
			late <- time.Since(<-due)
			return nil
		}
		fresh.Add(1)
		time.Sleep(time.Millisecond)
		return nil
	})
	by := <-late
	t.Logf("%v late, after %d fresh jobs", by, fresh.Load())
	if quiet() && by > time.Second || fresh.Load() >= 4000 {
		t.Errorf("the retry was %v late, after %d of 4000 fresh jobs", by, fresh.Load())
	}
}

// More requests for jobs wait at the server than the 512 that it allows by default.
func TestAttack_ManyWorkers(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{})
	const workers = 520
	var running atomic.Int64
	release := make(chan struct{})
	for range workers {
		work(t, q, 1, func(context.Context, *durable.Job) error { running.Add(1); <-release; return nil })
	}
	for range workers {
		put(t, q, "")
	}
	eventually(t, "all run at once", func() bool { return running.Load() == workers })
	close(release)
	untilEmpty(t, q)
}

// The worker's clock is behind. A job that the server has published at its time is due nevertheless.
func TestAttack_AClockThatIsBehind(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{})
	js, err := jetstream.New(connect(t, srv))
	must(t, err)
	// Published as by the server's scheduler, an hour before the due time by this machine's clock.
	_, err = js.PublishMsg(t.Context(), message("retrywhen.q.job.x.again", "", "Retrywhen-Put", "2026-01-01T00:00:00Z",
		"Retrywhen-State", "attempts=1 first=2026-01-01T00:00:00Z", "Retrywhen-Due", time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)))
	must(t, err)
	begun := make(chan *durable.Job, 1)
	work(t, q, 1, func(_ context.Context, job *durable.Job) error { begun <- job; return nil })
	if job := <-begun; job.Attempt != 2 {
		t.Errorf("got attempt %d", job.Attempt)
	}
}

// A worker dies during a wait that it keeps itself. The failed attempt is not repeated.
func TestAttack_ADeathDuringAShortWait(t *testing.T) {
	t.Parallel()
	srv := start(t)
	config := durable.Config{Lease: time.Second, Policy: retry.New(backoff.Constant(900*time.Millisecond), retry.Limit(2))}
	nc := connect(t, srv)
	one, two := open(t, nc, config), open(t, srv, config)
	put(t, one, "")
	go one.Work(t.Context(), 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "it has failed", func() bool { return one.Counts().Retried == 1 })
	time.Sleep(100 * time.Millisecond)
	nc.Close() // as when its process dies
	begun := make(chan *durable.Job, 1)
	work(t, two, 1, func(_ context.Context, job *durable.Job) error { begun <- job; return nil })
	if job := <-begun; job.Attempt != 2 || job.LastError != "no" {
		t.Errorf("got attempt %d, after %q, want 2", job.Attempt, job.LastError)
	}
}

// A worker dies in the first attempt. Another one makes it again, which Redelivered says, and fails. The next attempt,
// after a wait in the worker, is not one that was made before.
func TestAttack_ARedeliveryThatFails(t *testing.T) {
	t.Parallel()
	srv := start(t)
	config := durable.Config{Lease: 4 * time.Second, Policy: retry.New(backoff.Constant(100*time.Millisecond), retry.Limit(2))}
	nc := connect(t, srv)
	one, two := open(t, nc, config), open(t, srv, config)
	put(t, one, "")
	begun := make(chan struct{})
	go one.Work(t.Context(), 1, func(ctx context.Context, _ *durable.Job) error { close(begun); <-t.Context().Done(); return nil })
	<-begun
	nc.Close() // as when its process dies
	attempts := make(chan string, 3)
	work(t, two, 1, func(_ context.Context, job *durable.Job) error {
		attempts <- fmt.Sprintf("%d %t", job.Attempt, job.Redelivered)
		if job.Attempt < 3 {
			return errors.New("no")
		}
		return nil
	})
	for _, want := range []string{"1 true", "2 false", "3 false"} {
		if got := <-attempts; got != want {
			t.Errorf("attempt and Redelivered are %s, want %s", got, want)
		}
	}
}

// A schedule is fired twice, as by a server that is killed between storing the job and removing the schedule. The job
// is done or dead, and not attempted again, in whatever situation the worker gets the second message.
func TestAttack_AScheduleThatIsFiredTwice(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, nc *nats.Conn, again jetstream.Consumer){
		"a first delivery": func(*testing.T, *nats.Conn, jetstream.Consumer) {},
		"delivered before": func(t *testing.T, _ *nats.Conn, again jetstream.Consumer) {
			for range 2 {
				m, err := again.Next()
				must(t, err)
				must(t, m.Nak())
			}
		},
		"just after a reconnection": func(t *testing.T, nc *nats.Conn, _ jetstream.Consumer) {
			reconnects := nc.Stats().Reconnects
			must(t, nc.ForceReconnect())
			eventually(t, "it is connected again", func() bool { return nc.Stats().Reconnects > reconnects && nc.IsConnected() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			nc := connect(t, srv)
			q := open(t, nc, durable.Config{Policy: retry.New(backoff.Constant(1100*time.Millisecond), retry.Limit(1))})
			js, s := streamOf(t, connect(t, srv))
			for _, id := range []string{"done", "dead"} {
				put(t, q, "", durable.PutID(id))
			}
			var attempts atomic.Int64
			handler := func(_ context.Context, job *durable.Job) error {
				attempts.Add(1)
				if job.ID == "dead" || job.Attempt == 1 {
					return errors.New("no")
				}
				return nil
			}
			stop := work(t, q, 1, handler)
			schedules := make(map[string]*jetstream.RawStreamMsg)
			eventually(t, "both wait", func() bool {
				for _, id := range []string{"done", "dead"} {
					if m, err := s.GetLastMsgForSubject(t.Context(), "retrywhen.q.job."+id+".later"); err == nil {
						schedules[id] = m
					}
				}
				return len(schedules) == 2
			})
			eventually(t, "one is done, one dead", func() bool { s, err := stats(t, q); return err == nil && s.Done == 1 && s.Dead == 1 && s.Running == 0 })
			stop()
			for id, m := range schedules {
				again := &nats.Msg{Subject: "retrywhen.q.job." + id + ".again", Header: make(nats.Header), Data: m.Data}
				for key, values := range m.Header {
					if !strings.HasPrefix(key, "Nats-") {
						again.Header[key] = values
					}
				}
				publish(t, js, again)
			}
			again, err := s.Consumer(t.Context(), "again-"+s.CachedInfo().Config.Metadata["retrywhen.number"])
			must(t, err)
			before(t, nc, again)
			work(t, q, 1, handler)
			untilEmpty(t, q)
			if s, err := stats(t, q); err != nil || attempts.Load() != 4 || s.Done != 1 || s.Dead != 1 {
				t.Errorf("%d attempts, %v, %v, want 4", attempts.Load(), s, err)
			}
		})
	}
}

// Jobs are put while workers and the server are killed, stopped and started again, and their network is cut and
// stalled, at random. Afterwards each job is done or dead as expected, and none is both.
func TestAttack_TheLedgerBalances(t *testing.T) {
	t.Parallel()
	jobs, attacks := 400, 4
	if nightly() {
		jobs, attacks = 20_000, 60
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	network := newWire(t, "127.0.0.1:"+port)
	url := network.url()
	q := open(t, url, durable.Config{Name: "crash", Lease: 3 * time.Second, Policy: crashPolicy, Remember: time.Hour}) // a Put can take long
	number := 0
	newWorker := func() *process {
		number++
		return spawn(t, "worker", url, filepath.Join(dir, strconv.Itoa(number)+".journal"), "16")
	}
	workers := []*process{newWorker(), newWorker(), newWorker()}
	var sent, exists atomic.Int64
	var putting sync.WaitGroup
	for range 8 {
		putting.Go(func() {
			for i := int(sent.Add(1)); i <= jobs && !t.Failed(); i = int(sent.Add(1)) {
				id := "job-" + strconv.Itoa(i)
				for range 2 { // each job is put twice
					if putAgain(t, q, id, "payload of "+id) {
						exists.Add(1)
					}
				}
			}
		})
	}
	did := make(map[string]int)
	for range attacks {
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
		w := random.IntN(len(workers))
		moment := time.Duration(1000+random.IntN(4000)) * time.Millisecond
		switch random.IntN(8) {
		case 0:
			did["workers killed"]++
			workers[w].kill()
			workers[w] = newWorker()
		case 1:
			did["workers stopped by a signal"]++
			pause(workers[w].cmd.Process)
			p := workers[w]
			time.AfterFunc(time.Duration(3000+random.IntN(2000))*time.Millisecond, func() { resume(p.cmd.Process) })
		case 2:
			did["workers ended"]++
			resume(workers[w].cmd.Process)
			workers[w].stop()
			workers[w] = newWorker()
		case 3:
			did["server killed"]++
			server.kill()
			server = spawn(t, "server", dir, port)
		case 4:
			did["server started again"]++
			server.stop()
			server = spawn(t, "server", dir, port)
		case 5:
			did["network cut"]++
			network.cut()
		case 6:
			did["network stalled"]++
			network.stall(moment)
		case 7:
			did["network stalled, clients connect again"]++
			network.strand(moment)
		}
	}
	putting.Wait()
	untilEmpty(t, q)
	time.Sleep(5 * time.Second) // for a worker that was stopped and continues, and for late deliveries
	untilEmpty(t, q)
	for _, w := range workers {
		resume(w.cmd.Process)
		w.stop()
	}
	records, dead := readJournals(t, dir), deadIDs(t, q)
	attempts, needed := 0, 0
	for i := 1; i <= jobs; i++ {
		id := "job-" + strconv.Itoa(i)
		r, cause, n := records[id], dead[id], failures(id)
		switch {
		case r == nil:
			t.Errorf("seed %d: %s: lost, never attempted", seed, id)
			continue
		case n <= 3 && (r.done == 0 || cause != ""), n > 3 && (r.done > 0 || cause != "limit of 3 retries"):
			t.Errorf("seed %d: %s: fails %d times, done %d times, dead by %q", seed, id, n, r.done, cause)
		}
		attempts, needed = attempts+r.attempts, needed+min(n+1, 4)
	}
	if exists.Load() < int64(jobs) {
		t.Errorf("%d of %d second Puts returned ErrExists", exists.Load(), jobs)
	}
	t.Logf("%v; %d jobs = %d done + %d dead; %d of %d attempts repeated", did, jobs, jobs-len(dead), len(dead), attempts-needed, attempts)
}
