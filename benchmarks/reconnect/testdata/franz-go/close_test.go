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
