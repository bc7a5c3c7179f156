package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// The crash tests run servers and workers as separate processes of this test binary, and kill them.
const roleVariable = "RETRYWHEN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		flag.Parse()
		flag.Set("test.parallel", "12") // the tests mostly wait
		nextPort.Store(20000 + rand.Int32N(10000))
		os.Exit(m.Run())
	case "server":
		os.Exit(serverRole(os.Args[1], os.Args[2]))
	case "worker":
		os.Exit(workerRole(os.Args[1], os.Args[2], os.Args[3]))
	case "slow":
		os.Exit(slowRole(os.Args[1], os.Args[2], os.Args[3]))
	case "poisoned":
		os.Exit(poisonedRole(os.Args[1], os.Args[2], os.Args[3]))
	case "node":
		os.Exit(nodeRole(os.Args[1], os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(2)
}

// nightly reports whether to run the long forms of the tests that kill processes.
func nightly() bool { return os.Getenv("RETRYWHEN_NIGHTLY") == "1" }

// quiet reports whether nothing else runs, so that leases do not run out while their workers live.
func quiet() bool { return os.Getenv("RETRYWHEN_QUIET") == "1" }

// anybody removes the authorization, for servers that a test restarts or knows only by their port.
var anybody = embedded.Options(func(o *server.Options) { o.Authorization = "" })

// process is a child process. It prints "ready" when it is ready, and ends when its standard input does, so that it
// does not outlive the test.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
}

func spawn(t *testing.T, role string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{t, cmd}
	t.Cleanup(func() { stdin.Close(); p.kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("%s: printed %q, %v, want ready", role, line, err)
	}
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// stop ends the process gracefully.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v: %v", p.cmd.Args[1:], err)
	}
}

// child returns a context that ends by SIGTERM. It exits when the parent ends.
func child() (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(3)
	}()
	return ctx, cancel
}

func serverRole(dir, port string) int {
	ctx, cancel := child()
	defer cancel()
	n, _ := strconv.Atoi(port)
	srv, err := embedded.Start(dir, embedded.Listen(n), anybody)
	return serve(ctx, srv, err)
}

// serve says when the server is ready, and closes it when ctx ends.
func serve(ctx context.Context, srv *embedded.Server, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		return 1
	}
	fmt.Println("ready")
	<-ctx.Done()
	srv.Close()
	return 0
}

// crashPolicy has short delays, which the worker keeps, and longer ones, which the server keeps.
var crashPolicy = retry.New(backoff.Table(20*time.Millisecond, 200*time.Millisecond, 1500*time.Millisecond).Jitter(jitter.Default),
	retry.Limit(3))

// failures returns how often the job fails: 0 to 4 times. The fourth failure exceeds the policy's limit.
func failures(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % 5)
}

// workerRole is a worker that records each attempt, its outcome, and each retry of the policy. Whether an attempt fails
// depends on its number only, so it has the same outcome in every worker.
func workerRole(url, journal, workers string) int {
	ctx, cancel := child()
	defer cancel()
	f, err := os.OpenFile(journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	// One write per line, so that a killed process writes only whole lines.
	policy := crashPolicy.With(retry.OnRetry(func(_ context.Context, e retry.Event) {
		failed := e.Err.(attemptError)
		fmt.Fprintf(f, "%s %d retry %d %d\n", failed.id, failed.attempt, failed.at, e.Delay)
	}))
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	defer nc.Close()
	q, err := durable.Open(ctx, nc, durable.Config{Name: "crash", Lease: 3 * time.Second, Policy: policy})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	fmt.Println("ready")
	n, _ := strconv.Atoi(workers)
	err = q.Work(ctx, n, func(_ context.Context, job *durable.Job) error {
		at := time.Now().UnixNano()
		if job.Attempt <= failures(job.ID) {
			fmt.Fprintf(f, "%s %d failed %d 0\n", job.ID, job.Attempt, at)
			return attemptError{job.ID, job.Attempt, at}
		}
		fmt.Fprintf(f, "%s %d done %d 0\n", job.ID, job.Attempt, at)
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	if err := q.Close(); err != nil && !errors.Is(err, durable.ErrUnreachable) { // the server may just have been killed
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

type attemptError struct {
	id      string
	attempt int
	at      int64
}

func (e attemptError) Error() string { return fmt.Sprintf("attempt %d of %s fails", e.attempt, e.id) }

// record is what the workers have recorded of a job.
type record struct {
	attempts int
	done     int
	begun    [5][]int64 // by number
	due      [5][]int64 // when the retry after the failure of that number is due
}

func readJournals(t *testing.T, dir string) map[string]*record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	must(t, err)
	records := make(map[string]*record)
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(t, err)
		for s := range strings.Lines(string(data)) {
			var id, what string
			var attempt int
			var at, delay int64
			if _, err := fmt.Sscanf(s, "%s %d %s %d %d\n", &id, &attempt, &what, &at, &delay); err != nil || attempt > 4 {
				t.Fatalf("%s: %q: %v", name, s, err)
			}
			r := records[id]
			if r == nil {
				r = new(record)
				records[id] = r
			}
			if what == "retry" {
				r.due[attempt] = append(r.due[attempt], at+delay)
				continue
			}
			r.attempts++
			r.begun[attempt] = append(r.begun[attempt], at)
			if what == "done" {
				r.done++
			}
		}
	}
	return records
}

func TestNothingIsLostWhenWorkersAndServerAreKilled(t *testing.T) {
	t.Parallel()
	const workers = 16
	jobs := 1_000
	if nightly() {
		jobs = 20_000
	}
	dir := t.TempDir()
	port := freePort(t)
	url := "nats://127.0.0.1:" + port
	server := spawn(t, "server", dir, port)
	q := open(t, url, durable.Config{Name: "crash", Lease: 3 * time.Second, Policy: crashPolicy})

	workerNumber := 0
	newWorker := func() *process {
		workerNumber++
		return spawn(t, "worker", url, filepath.Join(dir, fmt.Sprintf("%d.journal", workerNumber)), strconv.Itoa(workers))
	}
	first, second := newWorker(), newWorker()

	var sent atomic.Int64
	var putting sync.WaitGroup
	for range 8 {
		putting.Go(func() {
			for i := int(sent.Add(1)); i <= jobs && !t.Failed(); i = int(sent.Add(1)) {
				id := "job-" + strconv.Itoa(i)
				putAgain(t, q, id, "payload of "+id)
			}
		})
	}

	falls(t, "jobs before a third is put", func() int { return jobs/3 + 1 - int(sent.Load()) })
	first.kill()
	third := newWorker()
	falls(t, "jobs before two thirds are put", func() int { return 2*jobs/3 + 1 - int(sent.Load()) })
	server.kill()
	time.Sleep(500 * time.Millisecond) // long enough for all clients to notice
	spawn(t, "server", dir, port)
	putting.Wait()
	untilEmpty(t, q)
	second.stop()
	third.stop()

	records := readJournals(t, dir)
	dead := make(map[string]*durable.DeadLetter)
	for _, d := range letters(t, q) {
		dead[d.ID] = d
	}
	var attempts, repeated int
	var late []time.Duration
	for i := 1; i <= jobs; i++ {
		id := "job-" + strconv.Itoa(i)
		r, d, n := records[id], dead[id], failures(id)
		switch {
		case r == nil:
			t.Errorf("%s: lost, never attempted", id)
			continue
		case n <= 3 && (r.done == 0 || d != nil), n > 3 && (r.done > 0 || d == nil):
			t.Errorf("%s: fails %d times, done %d times, dead %v", id, n, r.done, d)
		case d != nil && (d.Attempts != 4 || d.Cause != "limit of 3 retries" || d.Err != (attemptError{id: id, attempt: 4}).Error() ||
			string(d.Data) != "payload of "+id || d.FirstFailure.IsZero() || d.Died.Before(d.FirstFailure)):
			t.Errorf("%s: got dead letter %+v", id, d)
		}
		attempts += r.attempts
		repeated += r.attempts - min(n+1, 4)
		for attempt := 2; attempt <= 4; attempt++ {
			due, begun := r.due[attempt-1], r.begun[attempt]
			if len(due) == 0 || len(begun) == 0 {
				continue
			}
			// If an attempt was made twice, its retry was decided twice. It is due at the earlier time.
			by := time.Duration(slices.Min(begun) - slices.Min(due))
			if by < 0 {
				t.Errorf("%s: attempt %d came %v early", id, attempt, -by)
			}
			if len(due) == 1 && len(begun) == 1 {
				late = append(late, by)
			}
		}
	}
	// Each kill may repeat attempts whose outcome was not stored: of the jobs that the killed worker had fetched or kept,
	// and of all jobs that any worker had when the server was killed.
	if bound := 3 * (workers + 1024 + 4096); repeated > bound {
		t.Errorf("%d attempts were repeated, want at most %d", repeated, bound)
	}
	slices.Sort(late)
	t.Logf("%d jobs, %d attempts, %d of them repeated, %d dead; %d waits, late by p50 %v, p99 %v, at most %v",
		jobs, attempts, repeated, len(dead), len(late), quantile(late, 0.5), quantile(late, 0.99), quantile(late, 1))
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
}

var nextPort atomic.Int32

// freePort returns a port for a server that is killed and restarted. No system gives it to the caller of a connection,
// as it may do with one that a listener has just closed.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := fmt.Sprint(nextPort.Add(1))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
