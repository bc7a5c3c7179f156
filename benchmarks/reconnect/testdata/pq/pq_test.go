package pq

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"
)

const dsn = "postgres://postgres@127.0.0.1/postgres?sslmode=disable"

// database is a server in memory, which is silent after a number of replies.
type database struct {
	replies int

	mu    sync.Mutex
	down  bool
	dials []time.Time
	conns []net.Conn
}

func (d *database) Dial(string, string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dials = append(d.dials, time.Now())
	if d.down {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	d.conns = append(d.conns, server)
	go d.serve(server)
	return client, nil
}

func (d *database) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	return d.Dial(network, address)
}

func (d *database) serve(c net.Conn) {
	defer func() { _, _ = io.Copy(io.Discard, c) }()
	const ready = "Z\x00\x00\x00\x05I"
	for i := range d.replies {
		head := make([]byte, 4+min(i, 1)) // the first message has no kind
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[min(i, 1):]))-4); err != nil {
			return
		}
		reply := "C\x00\x00\x00\x0bLISTEN\x00" + ready
		if i == 0 {
			reply = "R\x00\x00\x00\x08\x00\x00\x00\x00" + ready
		}
		_, _ = io.WriteString(c, reply)
	}
}

func (d *database) fall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = true
	for _, c := range d.conns {
		_ = c.Close()
	}
}

func TestPingOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{replies: 2}
		l := pq.NewDialListener(d, dsn, time.Second, time.Minute, nil)
		synctest.Wait() // it is connected
		if err := l.Listen("events"); err != nil {
			t.Fatal(err)
		}
		pinged := make(chan error, 1)
		go func() { pinged <- l.Ping() }()
		time.Sleep(time.Hour)
		if len(pinged) == 0 {
			t.Error("Ping has not returned in an hour")
		}
		d.fall()
		<-pinged
		_ = l.Close()
	})
}

func TestCloseWhileItConnects(t *testing.T) {
	d := &database{} // accepts, and is silent
	l := pq.NewDialListener(d, dsn, time.Second, time.Minute, nil)
	time.Sleep(100 * time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		t.Error("Close has not returned in 3s, while the listener connects to a server that does not answer")
	}
	d.fall()
}

func TestCloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pq.NewDialListener(&database{down: true}, dsn, time.Minute, time.Minute, nil)
		time.Sleep(time.Second)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		buf := make([]byte, 1<<20)
		if strings.Contains(string(buf[:runtime.Stack(buf, true)]), "listenerConnLoop") {
			t.Error("Close has returned, and the listener's goroutine sleeps on")
		}
		time.Sleep(time.Hour)
	})
}

func TestJitter(t *testing.T) {
	waits := func(after time.Duration) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			d := &database{down: true}
			time.Sleep(after)
			l := pq.NewDialListener(d, dsn, time.Second, time.Minute, nil)
			time.Sleep(time.Hour)
			_ = l.Close()
			time.Sleep(time.Hour)
			for i := 1; i < len(d.dials); i++ {
				all = append(all, d.dials[i].Sub(d.dials[i-1]))
			}
		})
		return all
	}
	if one, other := waits(0), waits(time.Second); slices.Equal(one, other) {
		t.Errorf("two listeners whose connections are refused both wait for exactly %v, and so on", one[:8])
	}
}
