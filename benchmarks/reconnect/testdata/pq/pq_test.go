// Package pq shows faults of lib/pq v1.12.3: Ping and Close of a Listener whose server does not answer. Point 1 shows
// with PostgreSQL 15 too.
//
//  1. Listener.Ping, "to make sure it's alive", waits for the reply without a deadline (notify.go:347): if the
//     server or the network is silent, it does not return, and a program that pings as the documents advised never
//     learns that it gets no notifications. It holds the Listener's mutex, so that Close, Listen and further Pings
//     do not return either (:636). To mend it: SetReadDeadline before a query's reply, or a PingContext, which
//     closes the connection when its context ends.
//
//  2. connect holds the mutex while it dials, and waits for the server's first messages and the replies to LISTEN
//     (:725): Close waits for that; without connect_timeout it may wait without an end. To mend it: connect without
//     the mutex, with a context that Close cancels.
//
//  3. Close does not end the wait before the next connection: a goroutine sleeps for up to maxReconnect (:796,
//     :827). To mend it: a timer and a channel that Close closes.
//
//  4. Waits double and have no random part: after a restart all programs connect at the same moments (:797). To mend
//     it: a random part of each wait.
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
		time.Sleep(time.Minute) // the wait before the next connection, which Close may not end
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
