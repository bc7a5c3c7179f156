package retrygrpc_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
	"github.com/retrywhen/retrywhen/stream"
)

// cutter is a listener whose connections can be cut.
type cutter struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// cut resets all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	c.conns = nil
}

// dial starts the server on TCP.
func dial(t *testing.T, s *server, p retry.Policy, opts ...retrygrpc.Option) (client, *cutter) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	network := &cutter{Listener: listener}
	t.Cleanup(s.serve(network))
	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), interceptors(p, opts...)...)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.Connect()
	return client{conn}, network
}

var quick = retry.New(backoff.Exponential(time.Millisecond, 2).Cap(50*time.Millisecond), retry.Within(time.Minute))

func TestTCP_CallsSurviveConnections(t *testing.T) {
	conn, network := dial(t, &server{}, quick)
	var callers sync.WaitGroup
	for caller := range int64(8) {
		callers.Go(func() {
			for n := range int64(50) {
				got, err := conn.Double(t.Context(), wrapperspb.Int64(n), grpc.WaitForReady(true))
				if err != nil || got.Value != 2*n {
					t.Errorf("got %v, %v, want %d", got, err, 2*n)
				}
				if caller == 0 && n%5 == 0 {
					network.cut()
				}
			}
		})
	}
	callers.Wait()
}

func TestTCP_AStreamSurvivesConnections(t *testing.T) {
	conn, network := dial(t, &server{}, retry.New(backoff.Backoff{}), retrygrpc.Methods(func(m string) bool { return m != after }))
	events := operators.Resume(int64(0), func(at int64) stream.Stream[*number] {
		return retrygrpc.Receive(conn.After, wrapperspb.Int64(at), grpc.WaitForReady(true))
	}, func(_ int64, n *number) int64 { return n.Value }, quick.With(retry.If(retrygrpc.IsTransient), retry.ResetAfterItems(1)))
	var got []int64
	err := events.ForEach(t.Context(), func(n *number) {
		if got = append(got, n.Value); n.Value%3 == 0 {
			network.cut()
		}
	})
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestTCP_NobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener.Close()
	retries := 0
	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(),
		interceptors(retry.New(backoff.Constant(time.Millisecond), retry.Limit(3), retry.OnRetry(func(_ context.Context, e retry.Event) { retries = e.N })))...)
	must(t, err)
	defer conn.Close()
	if _, err := (client{conn}).Double(t.Context(), wrapperspb.Int64(1)); status.Code(err) != codes.Unavailable || retries != 3 {
		t.Errorf("%v after %d retries", err, retries)
	}
}
