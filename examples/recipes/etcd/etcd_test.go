package etcd_test

import (
	"context"
	"errors"
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
	check.Must(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	s := server{address: address}
	writer, err := connect(t, s.address)()
	check.Must(t, err)
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

// program stores the revision with each row, which is an event, and with each mark, until it has had the row that its
// second argument names. A Begin is the event 0.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	start := int64(0)
	e.Start(&start)
	return etcd.Follow(dial(ctx, args[0]), "rows/", start, time.Minute, proxy.Policy).TakeWhile(func(c etcd.Change) bool {
		if c.Mark == etcd.End || c.Mark == etcd.Progress {
			e.Apply(c.Revision)
			return true
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(c.Key, "rows/"))
		e.Apply(c.Revision, n)
		return c.Key != "rows/"+args[1]
	}).ForEach(ctx, func(etcd.Change) {})
}

func TestKilled(t *testing.T)      { testKilled(t, fakeServer(t)) }
func TestKilled_Etcd(t *testing.T) { testKilled(t, realServer(t)) }

// The process is killed amid a snapshot, which begins again, at its end, after rows, and when it has stored the
// progress of an idle watch. That is not compacted, so the next process has no snapshot; a revision that is compacted
// begins with one.
func testKilled(t *testing.T, s server) {
	file := filepath.Join(t.TempDir(), "effects")
	row := func(n int) string { return "rows/" + strconv.Itoa(n) }
	for n := 1; n <= 10; n++ {
		s.put(row(n))
	}
	kills := []int{5, 12, 10, 10} // a Begin and four rows; a Begin, ten rows and the End
	for i, kill := range kills {
		if i == 2 {
			for n := 11; n <= 40; n++ {
				s.put(row(n))
			}
		}
		killed.End(t, killed.Start(t, file, kill, s.address, "none"), true)
	}
	killed.End(t, killed.Start(t, file, 0, s.address, "40"), false)
	for range 50 {
		s.put("other")
	}
	killed.End(t, killed.Start(t, file, 1, s.address, "none"), true) // its first effect is a Progress
	s.compact()
	s.put(row(41))
	killed.End(t, killed.Start(t, file, 0, s.address, "41"), false)
	seen := killed.Seen(t, file)
	if seen[0] != 2 {
		t.Errorf("%d snapshots begun, want 2: the stored progress was not compacted", seen[0])
	}
	delete(seen, 0)
	lost, repeated := seen.Count(1, 41)
	killed.Row(t, "etcd, with a compaction", len(kills)+1, 41, len(lost), fmt.Sprintf("%d: a snapshot begins again", repeated))
	s.put(row(42))
	s.put("other")
	s.compact()
	killed.End(t, killed.Start(t, file, 0, s.address, "42"), false)
	if seen := killed.Seen(t, file); seen[0] != 3 || seen[1] != 3 {
		t.Errorf("%d snapshots begun after the position was compacted, want 3", seen[0])
	}
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

// An outage ends when the server has made the watch, not with its first change or progress.
func TestFollow_Idle(t *testing.T) {
	f := newFake()
	f.progress = time.Hour
	address, attempts := startFake(t, f), 0
	refused := func() (*clientv3.Client, error) {
		if attempts++; attempts == 1 {
			return nil, errors.New("connection refused")
		}
		return connect(t, address)()
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p := proxy.Policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
	if _, err := etcd.Follow(refused, "rows/", 1, time.Hour, p).Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("not recovered: %v", err)
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
