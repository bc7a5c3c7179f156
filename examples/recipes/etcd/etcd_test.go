package etcd_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/etcd"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// server is a running server, the fake or etcd itself.
type server struct {
	address string
	put     func(keys ...string) // in a transaction
	remove  func(key string)
	compact func() // all revisions but the last
}

func fakeServer(t *testing.T) server {
	f := newFake()
	return server{startFake(t, f), f.put, func(key string) { f.change(mvccpb.Event_DELETE, key) }, f.compact}
}

func realServer(t *testing.T) server {
	program, address := debian.Program(t, "etcd", "etcd-server"), check.Port(t)
	url, peers := "http://"+address, "http://"+check.Port(t)
	process := exec.Command(program, "--data-dir", t.TempDir(), "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers,
		"--experimental-watch-progress-notify-interval", "200ms")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	s := server{address: address}
	writer, err := connect(t, s.address)()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	last := int64(0)
	done := func(response *clientv3.TxnResponse, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		last = response.Header.Revision
	}
	s.put = func(keys ...string) {
		var writes []clientv3.Op
		for _, key := range keys {
			writes = append(writes, clientv3.OpPut(key, key))
		}
		done(writer.Txn(t.Context()).Then(writes...).Commit())
	}
	s.remove = func(key string) { done(writer.Txn(t.Context()).Then(clientv3.OpDelete(key)).Commit()) }
	s.compact = func() {
		if _, err := writer.Compact(t.Context(), last); err != nil {
			t.Error(err)
		}
	}
	return s
}

func connect(t *testing.T, address string) func() (*clientv3.Client, error) {
	return dial(t.Context(), address)
}

func dial(ctx context.Context, address string) func() (*clientv3.Client, error) {
	return func() (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{address}})
	}
}

// program stores the revision with each row, which is an event, and with each mark. A Begin is the event 0.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	start, _ := strconv.ParseInt(e.Position(), 10, 64)
	return etcd.Follow(dial(ctx, args[0]), "rows/", start, time.Minute, proxy.Policy).TryForEach(ctx, func(_ context.Context, c etcd.Change) error {
		at := strconv.FormatInt(c.Revision, 10)
		if c.Mark == etcd.End || c.Mark == etcd.Progress {
			return e.Bookmark(at)
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(c.Key, "rows/"))
		return e.Apply(n, at)
	})
}

func TestKilled(t *testing.T)      { testKilled(t, fakeServer(t)) }
func TestKilled_Etcd(t *testing.T) { testKilled(t, realServer(t)) }

// The process is killed after effects, and while it is idle. The stored progress is not compacted, so the next process has
// no snapshot; a revision that is compacted begins with one.
func testKilled(t *testing.T, s server) {
	name := filepath.Join(t.TempDir(), "effects")
	effects := func() *killed.Effects {
		e, err := killed.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		return e
	}
	// until runs the program until the condition, and kills it.
	until := func(what string, condition func(e *killed.Effects) bool) {
		t.Helper()
		program := killed.Start(t, name, 0, s.address)
		defer func() { _ = program.Process.Kill(); _ = program.Wait() }()
		for end := time.Now().Add(20 * time.Second); !condition(effects()); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not after 20 s: %s", what)
			}
		}
	}
	has := func(n int) func(*killed.Effects) bool {
		return func(e *killed.Effects) bool { return e.Counts()[n] > 0 }
	}
	const n = 40
	for i := 1; i <= n; i++ {
		s.put("rows/" + strconv.Itoa(i))
		if i%10 == 0 {
			until("a row", has(i)) // the first one is a snapshot of ten
		}
	}
	for range 50 {
		s.put("other")
	}
	before, _ := strconv.Atoi(effects().Position())
	until("progress", func(e *killed.Effects) bool {
		at, _ := strconv.Atoi(e.Position())
		return at >= before+50
	})
	s.compact()
	s.put("rows/" + strconv.Itoa(n+1))
	until("a row after the compaction", has(n+1))
	counts := effects().Counts()
	if counts[0] != 1 {
		t.Errorf("%d snapshots, want 1: the stored progress was not compacted", counts[0])
	}
	lost, repeated := 0, 0
	for i := 1; i <= n+1; i++ {
		lost += max(0, 1-counts[i])
		repeated += max(0, counts[i]-1)
	}
	t.Logf("killed 6 times, %d events, %d lost, %d repeated", n+1, lost, repeated)
	if lost+repeated > 0 {
		t.Errorf("got %v", counts)
	}
	s.put("rows/" + strconv.Itoa(n+2))
	s.put("other")
	s.compact()
	until("a snapshot", func(e *killed.Effects) bool { return e.Counts()[0] == 2 && e.Counts()[n+2] > 0 })
}

func TestFollow(t *testing.T)      { follow(t, fakeServer(t)) }
func TestFollow_Etcd(t *testing.T) { follow(t, realServer(t)) }

// follow changes rows in transactions while the network cuts, falls silent and refuses, and then compacts the revisions
// after a stored position. At the end what the changes make of the rows is what the server has.
func follow(t *testing.T, s server) {
	const n, every = 1000, 250
	network := proxy.Start(t, s.address)
	for i := range 10 {
		s.put(fmt.Sprintf("rows/old %d", i))
	}
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i := 1; i <= n; i++ {
			s.put(fmt.Sprintf("rows/%d", i), fmt.Sprintf("rows/%d too", i))
		}
		s.remove("rows/old 1")
		s.put("rows/z")
	}()
	rows, fault, faults, snapshots := map[string]bool{}, network.Each(), 0, 0
	apply := func(c etcd.Change) {
		switch {
		case c.Mark == etcd.Begin:
			snapshots++
			clear(rows)
		case c.Deleted:
			delete(rows, c.Key)
		case c.Mark == "":
			rows[c.Key] = c.Value == c.Key
		}
	}
	check := func(when string, err error, want int) {
		t.Helper()
		delete(rows, "rows/z")
		if err != nil || len(rows) != want {
			t.Fatalf("%s: %d rows, want %d; %v", when, len(rows), want, err)
		}
		for key, right := range rows {
			if !right {
				t.Errorf("%s: %s has another value", when, key)
			}
		}
	}
	changes := etcd.Follow(connect(t, network.Address()), "rows/", 0, 2*time.Second, proxy.Policy)
	err := changes(t.Context(), func(c etcd.Change) bool {
		if apply(c); len(rows)/every > faults {
			faults++
			fault()
		}
		return c.Key != "rows/z"
	})
	<-writing
	check("at first", err, 9+2*n)
	if faults < 2*n/every {
		t.Errorf("%d faults, want more", faults)
	}

	s.remove("rows/old 0")
	s.compact()
	before := snapshots
	changes = etcd.Follow(connect(t, network.Address()), "rows/", 3, 2*time.Second, proxy.Policy)
	err = changes(t.Context(), func(c etcd.Change) bool {
		apply(c)
		return c.Mark != etcd.End
	})
	check("after the compaction", err, 8+2*n)
	if rows["rows/old 0"] || snapshots != before+1 {
		t.Errorf("%d snapshots after the compaction, rows/old 0 is there: %t", snapshots-before, rows["rows/old 0"])
	}
}

// A compacted position is a snapshot, and then what follows it.
func TestFollow_Compacted(t *testing.T) {
	f := newFake()
	address := startFake(t, f)
	for _, key := range []string{"a", "b", "c", "d"} {
		f.put(key)
	}
	f.compact()
	var got []string
	rows := etcd.Follow(connect(t, address), "", 2, time.Minute, retry.New(backoff.Backoff{}, retry.Limit(3)))
	err := rows.Filter(func(c etcd.Change) bool { return c.Mark != etcd.Progress }).Take(7).ForEach(t.Context(), func(c etcd.Change) {
		if got = append(got, c.Mark+c.Key); c.Mark == etcd.End {
			f.put("e")
		}
	})
	if want := []string{"begin", "a", "b", "c", "d", "end", "e"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
