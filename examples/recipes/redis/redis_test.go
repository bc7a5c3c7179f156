package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/redis"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// serve starts a server with a stream "jobs" of the entries 1 to n, and returns its address.
func serve(t *testing.T, n int) string {
	t.Helper()
	program := debian.Program(t, "redis-server", "redis-server")
	address := check.Port(t)
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	check.Must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	db := open(t, address)
	start := retry.New(backoff.Constant(20*time.Millisecond), retry.Within(10*time.Second))
	check.Must(t, retry.Run(t.Context(), start, func(ctx context.Context) error { return db.Ping(ctx).Err() }))
	for i := range n {
		check.Must(t, db.XAdd(t.Context(), &client.XAddArgs{Stream: "jobs", Values: []any{"n", i + 1}}).Err())
	}
	return address
}

func options(address string) *client.Options {
	return &client.Options{Addr: address, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, Protocol: 2, DisableIdentity: true}
}

func open(t *testing.T, address string) *client.Client {
	db := client.NewClient(options(address))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type effect = func(context.Context, client.XMessage) error

func consume(db *client.Client, f effect) stream.Stream[string] {
	wait := backoff.Exponential(5*time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Full)
	return redis.Consume(db, "jobs", "workers", "a", 100*time.Millisecond, retry.New(wait, retry.Limit(20), retry.ResetAfterItems(1)),
		retry.New(backoff.Constant(30*time.Millisecond), retry.Limit(2)), f)
}

func number(e client.XMessage) int {
	n, _ := strconv.Atoi(fmt.Sprint(e.Values["n"]))
	return n
}

// The connection breaks again and again while entries are processed and wait for retries. Each entry has its effect
// once or becomes a dead letter once, and none is left.
func TestConsume(t *testing.T) {
	const n, every = 3000, 400
	address := serve(t, n)
	network := proxy.Start(t, address)
	fault := network.Each()
	var mu sync.Mutex
	effects := ledger.Ledger{}
	calls := map[int]int{}
	f := func(_ context.Context, e client.XMessage) error {
		mu.Lock()
		defer mu.Unlock()
		switch calls[number(e)]++; {
		case number(e)%500 == 0:
			return errors.New("always fails")
		case number(e)%7 == 0 && calls[number(e)] == 1:
			return errors.New("not now")
		}
		effects.Enter(number(e))
		return nil
	}
	acknowledged := map[string]bool{}
	err := consume(open(t, network.Address()), f).Take(n-n/500).ForEach(t.Context(), func(id string) {
		if acknowledged[id] = true; len(acknowledged)%every == 0 {
			fault()
		}
	})
	if err != nil || len(acknowledged) != n-n/500 {
		t.Errorf("%d acknowledged, %v", len(acknowledged), err)
	}
	db := open(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // all entries are done or dead
	defer cancel()
	if err := consume(db, f).ForEach(ctx, func(id string) { t.Errorf("%s was left", id) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	dead, err := db.HLen(t.Context(), "jobs:dead").Result()
	if err != nil || dead != n/500 {
		t.Errorf("%d dead letters, %v", dead, err)
	}
	if pending, err := db.XPending(t.Context(), "jobs", "workers").Result(); err != nil || pending.Count > 0 {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	for i := 500; i <= n; i += 500 { // these have no effect
		effects.Enter(i)
	}
	effects.Check(t, 1, n)
}

// A process dies with entries in flight. The next one gets these again, and no others.
func TestConsume_AProcessDies(t *testing.T) {
	const n = 500
	address := serve(t, n)
	var mu sync.Mutex
	effects := map[int]int{}
	f := func(_ context.Context, e client.XMessage) error {
		mu.Lock()
		defer mu.Unlock()
		effects[number(e)]++
		return nil
	}
	acknowledged := 0
	jobs := consume(open(t, address), f)
	check.Must(t, jobs(t.Context(), func(string) bool { acknowledged++; return acknowledged < 200 }))
	pending, err := open(t, address).XPending(t.Context(), "jobs", "workers").Result()
	if err != nil || pending.Count == 0 {
		t.Fatalf("pending: %+v, %v", pending, err)
	}
	rest := consume(open(t, address), f)
	check.Must(t, rest.Take(n-acknowledged).ForEach(t.Context(), func(string) {}))
	twice := 0
	for i := 1; i <= n; i++ {
		switch effects[i] {
		case 1:
		case 2:
			twice++
		default:
			t.Errorf("%d effects of %d", effects[i], i)
		}
	}
	if twice > int(pending.Count) {
		t.Errorf("%d entries twice, but only %d were in flight", twice, pending.Count)
	}
}

// An outage ends with a read, although the stream is empty.
func TestConsume_Idle(t *testing.T) {
	address, dials := serve(t, 0), 0
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	o := options(address)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, errors.New("connection refused")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	db := client.NewClient(o)
	defer db.Close()
	p := proxy.Policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
	if _, err := redis.Consume(db, "jobs", "workers", "a", 100*time.Millisecond, p, p, nil).Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("not recovered: %v", err)
	}
}

// The group is deleted, as by a server that comes back without it: the next attempt creates it, and all entries come
// again.
func TestConsume_GroupIsDeleted(t *testing.T) {
	const n = 20
	address := serve(t, n)
	acknowledged, calls := 0, map[string]int{}
	nothing := func(context.Context, client.XMessage) error { return nil }
	err := consume(open(t, address), nothing).Take(2*n).ForEach(t.Context(), func(id string) {
		calls[id]++
		if acknowledged++; acknowledged != n {
			return
		}
		if err := open(t, address).XGroupDestroy(t.Context(), "jobs", "workers").Err(); err != nil {
			t.Error(err)
		}
	})
	if err != nil || len(calls) != n {
		t.Errorf("%d of %d entries, %v", len(calls), n, err)
	}
	for id, got := range calls {
		if got != 2 {
			t.Errorf("%s comes %d times, want twice", id, got)
		}
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has the effect of an entry before it is acknowledged.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	db := client.NewClient(options(args[0]))
	defer db.Close()
	entries := consume(db, func(_ context.Context, entry client.XMessage) error {
		e.Apply(nil, number(entry))
		return nil
	})
	return entries.TakeWhile(func(string) bool { return len(e.Counts()) < 500 }).ForEach(ctx, func(string) {})
}

func TestConsume_Killed(t *testing.T) {
	killed.Check(t, "redis Streams", 10, 40, 500, "10 or more", serve(t, 500))
}
