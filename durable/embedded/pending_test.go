package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// TestPendingRetries checks that of many pending retries none is lost or early. It logs how late they are, how much
// memory they need, and how fast a healthy job is meanwhile. RETRYWHEN_PENDING sets their number, and RETRYWHEN_SPREAD
// the time over which they are spread.
func TestPendingRetries(t *testing.T) {
	t.Parallel()
	pending, spread := 3_000, 3*time.Second
	if s := os.Getenv("RETRYWHEN_PENDING"); s != "" {
		var err error
		pending, err = strconv.Atoi(s)
		must(t, err)
		spread, err = time.ParseDuration(os.Getenv("RETRYWHEN_SPREAD"))
		must(t, err)
	}
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	// The dictated delay is exact: no jitter.
	q := open(t, "nats://127.0.0.1:"+port, durable.Config{Policy: retry.New(backoff.Constant(time.Second).Jitter(jitter.None))})

	var mu sync.Mutex
	due := make(map[string]time.Time, pending)
	failed, healthy := make(map[string]bool), make(map[string]bool)
	repeated := 0 // attempts whose report was not stored, because the server or this process stood still
	var late, latency []time.Duration
	var base time.Time
	work(t, q, 64, func(_ context.Context, job *durable.Job) error {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if len(job.Data) > 0 { // the data of a healthy job is the time when it was put
			healthy[job.ID] = true
			nanos, _ := strconv.ParseInt(string(job.Data), 10, 64)
			latency = append(latency, now.Sub(time.Unix(0, nanos)))
			return nil
		}
		at, ok := due[job.ID]
		switch {
		case job.Attempt == 1 && (ok || !failed[job.ID]):
			if failed[job.ID] = true; ok {
				repeated++
			} else {
				at = base.Add(rand.N(spread))
			}
			wait := max(time.Until(at), time.Second)
			due[job.ID] = time.Now().Add(wait)
			return retry.RetryAfter(errors.New("come back later"), wait)
		case !ok && failed[job.ID]:
			repeated++
		case !ok:
			t.Errorf("job %s: attempt %d without a failure before", job.ID, job.Attempt)
		default:
			by := now.Sub(at)
			if by < 0 {
				t.Errorf("job %s: %v early", job.ID, -by)
			}
			late = append(late, by)
			delete(due, job.ID)
		}
		return nil
	})
	clientBefore, serverBefore := heap(), resident(t, server)
	mu.Lock()
	// All must be pending before the first is due: 2,500 failures a second is slow enough for any machine.
	base = time.Now().Add(max(time.Duration(pending)*time.Second/2500, time.Second))
	mu.Unlock()
	began := time.Now()
	var putting sync.WaitGroup
	for worker := range 16 {
		putting.Go(func() {
			for i := worker; i < pending; i += 16 {
				put(t, q, "")
			}
		})
	}
	putting.Wait()
	falls(t, "jobs that have not failed yet", func() int { mu.Lock(); defer mu.Unlock(); return pending - len(failed) })
	filling := time.Since(began)
	stats, err := stats(t, q)
	must(t, err)
	clientAfter, serverAfter := heap(), resident(t, server)

	// While they come back, a healthy job is put every 10 ms.
	end := base.Add(spread)
	var puts int
	for time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
		puts++
		put(t, q, strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	falls(t, "jobs that have not come back", func() int { mu.Lock(); defer mu.Unlock(); return len(due) + puts - len(healthy) })
	untilEmpty(t, q)
	mu.Lock()
	defer mu.Unlock()
	if len(late) != pending {
		t.Errorf("%d retries, want %d", len(late), pending)
	}
	slices.Sort(late)
	slices.Sort(latency)
	if len(late) == 0 || quantile(late, 0.5) > 20*time.Second {
		t.Errorf("%d retries, half of them over %v late", len(late), quantile(late, 0.5))
	}
	t.Logf("%d jobs put and failed in %v; then %v", pending, filling.Round(time.Millisecond), stats)
	t.Logf("memory: client heap %.1f MiB more, server resident %.1f MiB more", mebibytes(clientAfter)-mebibytes(clientBefore),
		mebibytes(serverAfter)-mebibytes(serverBefore))
	t.Logf("spread over %v: late by p50 %v, p99 %v, at most %v", spread, quantile(late, 0.5), quantile(late, 0.99), quantile(late, 1))
	t.Logf("%d attempts repeated", repeated)
	t.Logf("%d healthy jobs meanwhile: served within p50 %v, p99 %v, at most %v", len(healthy), micro(latency, 0.5), micro(latency, 0.99), micro(latency, 1))
}

// falls waits until left returns 0. It fails when that has not fallen for two minutes: what a worker had when it or the
// server stood still comes again after a lease, 30 s, and on a busy machine that happens several times in a row.
func falls(t *testing.T, what string, left func() int) {
	t.Helper()
	least := left()
	for since := time.Now(); least > 0; time.Sleep(5 * time.Millisecond) {
		if n := left(); n < least {
			since, least = time.Now(), n
		}
		if time.Since(since) > 2*time.Minute {
			t.Fatalf("%d %s, for two minutes", least, what)
		}
	}
}

func micro(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(10 * time.Microsecond)
}

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// resident returns the resident memory of the process, 0 if it is unknown.
func resident(t *testing.T, p *process) uint64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// TestWaitingRetries_TheServerIsKilled kills the server while many retries wait for the same instant. None is lost or
// early, and none is made twice. The test logs the size of the retries on the disk, how long the server takes to start
// with them, and how fast they are attempted when they are due. RETRYWHEN_PENDING sets their number: 1000000 gave the
// figures of docs/durable.md.
func TestWaitingRetries_TheServerIsKilled(t *testing.T) {
	t.Parallel()
	pending := 2_000
	if s := os.Getenv("RETRYWHEN_PENDING"); s != "" {
		var err error
		pending, err = strconv.Atoi(s)
		must(t, err)
	}
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	// No jitter: the dictated delay is exact.
	q := open(t, "nats://127.0.0.1:"+port, durable.Config{
		Lease:  20 * time.Second, // until then, the server counts the deliveries from before the kill
		Policy: retry.New(backoff.Constant(time.Second).Jitter(jitter.None)),
	})

	// All wait for the same instant. If the machine is too slow to fail all of them before it, those that are due too
	// early fail again, for an instant that is further away.
	window := time.Duration(pending)*time.Second/2500 + 4*time.Second
	var mu sync.Mutex
	due, killed := time.Now().Add(window), false
	dueOf := make(map[string]time.Time, pending)
	var failed, back, early atomic.Int64
	var first, last atomic.Int64
	work(t, q, 64, func(_ context.Context, job *durable.Job) error {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if now.Before(dueOf[job.ID]) {
			early.Add(1)
		}
		if !killed {
			if now.After(due.Add(-window / 2)) {
				window *= 2
				due = now.Add(window)
			}
			if job.Attempt == 1 {
				failed.Add(1)
			}
			dueOf[job.ID] = due
			return retry.RetryAfter(errors.New("come back later"), time.Until(due))
		}
		first.CompareAndSwap(0, now.UnixNano())
		last.Store(now.UnixNano())
		back.Add(1)
		return nil
	})
	began := time.Now()
	inParallel(pending, func(int) { put(t, q, "") })
	patience := 10*time.Minute + 8*time.Duration(pending)*time.Second/2500 // on a busy machine all are due only after minutes
	within := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) || t.Failed() {
				t.Fatalf("not within %v: %s; %d have failed, %d are back", patience, what, failed.Load(), back.Load())
			}
		}
	}
	within("all wait, and not only for a moment", func() bool {
		s, err := stats(t, q)
		mu.Lock()
		defer mu.Unlock()
		killed = err == nil && s.Later == pending && time.Until(due) > time.Second
		return killed
	})
	filled := time.Since(began)

	server.kill()
	disk := size(t, dir)
	killedAt := time.Now()
	server = spawn(t, "server", dir, port)
	started := time.Since(killedAt)
	within("the server knows all", func() bool {
		s, err := stats(t, q)
		return err == nil && (s.Later == pending || !time.Now().Before(due))
	})
	responded := time.Since(killedAt)
	memory := resident(t, server)

	within("all are back", func() bool { return back.Load() >= int64(pending) })
	within("the queue is empty", isEmpty(t, q))
	if n := back.Load(); n != int64(pending) || early.Load() > 0 || failed.Load() != int64(pending) {
		t.Errorf("%d retries of %d failures, %d of them early, want %d of %d, none early", n, failed.Load(), early.Load(), pending, pending)
	}
	drained := time.Unix(0, last.Load()).Sub(due)
	t.Logf("%d put and failed in %v; on the disk %.0f bytes each", pending, filled.Round(time.Millisecond), float64(disk)/float64(pending))
	t.Logf("after kill -9: the server is up in %v, knows all in %v, has %.0f MiB resident", started.Round(time.Millisecond),
		responded.Round(time.Millisecond), mebibytes(memory))
	t.Logf("all due at once: the first after %v, all after %v, %.0f a second", time.Unix(0, first.Load()).Sub(due).Round(time.Millisecond),
		drained.Round(time.Millisecond), float64(pending)/drained.Seconds())
}

// size returns the bytes of all files in the folder.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err == nil {
			n += info.Size()
		}
		return err
	})
	must(t, err)
	return n
}
