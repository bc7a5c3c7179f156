package embedded_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

func TestCloseTwiceAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	put(t, q, "")
	begun, release := make(chan struct{}), make(chan struct{})
	go q.Work(context.Background(), 1, func(ctx context.Context, _ *durable.Job) error {
		close(begun)
		<-ctx.Done()
		if cause := context.Cause(ctx); cause != durable.ErrClosed {
			t.Errorf("the handler's context has ended by %v, want ErrClosed", cause)
		}
		<-release
		return nil
	})
	<-begun
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- q.Close() }()
	}
	select {
	case err := <-closed:
		t.Errorf("Close returned %v while a handler runs", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}

// It is unknown whether the job is stored.
func TestCloseWhilePutRuns(t *testing.T) {
	t.Parallel()
	q, d := dropping(t)
	ended := make(chan error, 1)
	go func() { _, err := q.Put(t.Context(), nil); ended <- err }()
	eventually(t, "the job is under way", func() bool { return d.dropped.Load() > 0 })
	if err := q.Close(); !errors.Is(err, durable.ErrUnreachable) {
		t.Errorf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, durable.ErrNotStored) || !errors.Is(err, durable.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestPutThatIsCancelledDoesNotBlameTheServer(t *testing.T) {
	t.Parallel()
	q, d := dropping(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("enough")) })
	_, err := q.Put(ctx, nil)
	if strings.Contains(err.Error(), "disk") || !errors.Is(err, durable.ErrNotStored) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("got %v", err)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancelShort()
	_, err = q.Put(short, nil)
	if strings.Contains(err.Error(), "disk") || !errors.Is(err, durable.ErrNotStored) {
		t.Errorf("got %v", err)
	}
	d.drop.Store(false)
}

// dropping returns a queue that nothing goes out of any more.
func dropping(t *testing.T) (*durable.Queue, *badDialer) {
	t.Helper()
	d := new(badDialer)
	q := open(t, connect(t, start(t, embedded.Listen(0)).URL(), nats.SetCustomDialer(d)), durable.Config{})
	put(t, q, "")
	d.drop.Store(true)
	return q, d
}

// badDialer is a dialer whose connections send nothing while sending is locked, and drop all that is sent while drop is
// set.
type badDialer struct {
	only    string        // if set, only what contains it is lost,
	late    time.Duration // or late
	sending sync.RWMutex
	drop    atomic.Bool
	dropped atomic.Int64
}

func (d *badDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &badConn{c, d}, err
}

type badConn struct {
	net.Conn
	d *badDialer
}

func (c *badConn) Write(b []byte) (int, error) {
	c.d.sending.RLock()
	defer c.d.sending.RUnlock()
	if strings.Contains(string(b), c.d.only) {
		if c.d.drop.Load() {
			c.d.dropped.Add(1)
			return len(b), nil
		}
		time.Sleep(c.d.late)
	}
	return c.Conn.Write(b)
}

// All calls of a queue whose connection was closed for good return an error that says so.
func TestEveryCallOnAClosedConnection(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t))
	q := open(t, nc, durable.Config{})
	put(t, q, "", durable.PutID("7"))
	nc.Close()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Put":       func() error { _, err := q.Put(ctx, nil); return err },
		"PutAt":     func() error { _, err := q.PutAt(ctx, time.Now().Add(time.Hour), nil); return err },
		"PutAll":    func() error { return q.PutAll(ctx, []durable.NewJob{{}})[0].Err },
		"Stats":     func() error { _, err := q.Stats(ctx); return err },
		"Dead":      func() error { _, err := q.Dead().Collect(ctx); return err },
		"Revive":    func() error { return q.Revive(ctx, "7") },
		"ReviveAll": func() error { _, err := q.ReviveAll(ctx, nil); return err },
		"Forget":    func() error { return q.Forget(ctx, "7") },
		"Work":      func() error { return q.Work(ctx, 1, func(context.Context, *durable.Job) error { return nil }) },
		"Jobs":      func() error { _, err := q.Jobs().Collect(ctx); return err },
		"Delete":    func() error { return q.Delete(ctx) },
	} {
		err := call()
		if !errors.Is(err, durable.ErrClosed) || !strings.HasPrefix(err.Error(), "durable: ") {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	srv := start(t)
	nc := connect(t, srv)
	q := open(t, nc, durable.Config{Policy: crashPolicy})
	for range 100 {
		put(t, q, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if err := q.Work(ctx, 1, func(context.Context, *durable.Job) error {
		if n++; n == 50 {
			cancel()
		}
		return errors.New("no")
	}); err != nil {
		t.Error(err)
	}
	if _, err := q.Jobs().Take(10).Collect(t.Context()); err != nil {
		t.Error(err)
	}
	must(t, q.Close())
	nc.Close()
	// The server continues, with its goroutines.
	eventually(t, "no goroutine of the queue or its connection is left", func() bool {
		stacks := make([]byte, 4<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "retrywhen/durable.") && !strings.Contains(string(stacks), "nats-io/nats.go")
	})
}
