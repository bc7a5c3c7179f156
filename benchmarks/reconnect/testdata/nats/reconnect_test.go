// Package nats shows faults of nats-io/nats.go v1.55.0: a failed handshake leaves its connection open, and Close waits
// for a handshake.
//
//  1. If a reconnect fails after the dial, doReconnect goes on with the next connection, and does not close this one
//     (nats.go:3581): its descriptor stays until the garbage collector finds it, and so does the other side. To mend
//     it: nc.conn.Close() there.
//
//  2. doReconnect holds the connection's mutex during a handshake (nats.go:3581), and Close waits for it: with a server
//     that accepts and is silent as long as the option Timeout says, 2 s. To mend it: no mutex during the handshake.
package nats

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// server is a CustomDialer whose connections are served with their number.
type server struct {
	mu    sync.Mutex
	conns []net.Conn
	serve func(n int, c net.Conn)
}

func (s *server) Dial(string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client, conn := net.Pipe()
	s.conns = append(s.conns, conn)
	go s.serve(len(s.conns), conn)
	return client, nil
}

// accept answers as a server does. It returns when the client has closed the connection.
func accept(c net.Conn) {
	_, _ = io.WriteString(c, "INFO {\"server_id\":\"a\",\"max_payload\":1000,\"proto\":1}\r\n")
	for in := bufio.NewScanner(c); in.Scan(); {
		if strings.HasPrefix(in.Text(), "PING") {
			_, _ = io.WriteString(c, "PONG\r\n")
		}
	}
}

func TestAFailedHandshakeClosesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{serve: func(n int, c net.Conn) {
			switch n {
			case 1:
				go accept(c)
				time.Sleep(time.Second)
				_ = c.Close()
			case 2: // is silent
			default:
				accept(c)
			}
		}}
		conn, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(s))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !conn.IsConnected() || len(s.conns) != 3 {
			t.Fatalf("it is not connected, after %d connections", len(s.conns))
		}
		_ = s.conns[1].SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := io.Copy(io.Discard, s.conns[1]); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the second connection had no answer; the client is connected again, and has not closed that one in an hour")
		}
		conn.Close()
		_ = s.conns[1].Close()
	})
}

func TestCloseDuringAHandshake(t *testing.T) {
	second := make(chan struct{})
	s := &server{serve: func(n int, c net.Conn) {
		if n == 1 {
			go accept(c)
			time.Sleep(100 * time.Millisecond)
			_ = c.Close()
			return
		}
		if n == 2 {
			close(second)
		}
		_, _ = io.Copy(io.Discard, c)
	}}
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(s), nats.ReconnectWait(0), nats.Timeout(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	<-second
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	if conn.Close(); time.Since(start) > 2*time.Second {
		t.Errorf("Close has returned after %v, while a server that has accepted is silent", time.Since(start))
	}
}
