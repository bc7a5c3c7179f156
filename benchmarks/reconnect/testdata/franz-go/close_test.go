// Package franzgo shows faults of twmb/franz-go v1.22.2: Close waits for a request on a silent connection.
//
// stopSession cancels the session, and says that "any in progress fetches, offset lists, or epoch loads will quickly
// die" (kgo/consumer.go:1995). It then waits for the workers (:2004), and a list of offsets whose broker is silent ends
// with its read timeout only: Close returns after about 20 s. To mend it: let listOrEpoch (:2208) select on the
// session's context too.
package franzgo

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// listener accepts connections in memory.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error { return nil }
func (l listener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092}
}

func TestCloseOnASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listener{make(chan net.Conn), make(chan struct{})}
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"), kfake.ListenFn(func(string, string) (net.Listener, error) { return l, nil }))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		defer close(l.closed)
		dials := 0
		client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:9092"), kgo.ConsumeTopics("events"), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			c, server := net.Pipe()
			if dials == 1 { // for the metadata
				l.conns <- server
			} else { // for the offsets
				go func() { _, _ = io.Copy(io.Discard, server) }()
			}
			return c, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		if client.Close(); time.Since(start) > 2*time.Second {
			t.Errorf("Close has returned after %v", time.Since(start))
		}
	})
}
