package embedded_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// TestWaitingRetries_TheServerIsKilled kills the server while many retries wait for the same instant. None is lost or
// early, and none is made twice. The test logs the size of the retries on the disk, how long the server takes to start
// with them, and how fast they are attempted when they are due. RETRYWHEN_PENDING sets their number: 1000000 gave the
// figures of docs/durable.md.
func TestWaitingRetries_TheServerIsKilled(t *testing.T) {
	t.Parallel()
	pending := 2_000
	if s := os.Getenv("RETRYWHEN_PENDING"); s != "" {
		var err error
		if pending, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	// No jitter: the dictated delay is exact.
	q := open(t, "nats://127.0.0.1:"+port, durable.Config{
		Lease:  5 * time.Second, // until then, the server counts the deliveries from before the kill
		Policy: retry.New(backoff.Constant(time.Second).Jitter(jitter.None)),
	})

	// All wait for the same instant. If the machine is too slow to fail all of them before it, those that are due too early
	// fail again, for an instant that is further away.
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
	inParallel(pending, func(int) {
		if _, err := q.Put(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
	patience := 2*time.Minute + 8*time.Duration(pending)*time.Second/2500
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
	if err != nil {
		t.Fatal(err)
	}
	return n
}
