package reconnect

import (
	"context"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"
	"google.golang.org/grpc/keepalive"

	"github.com/retrywhen/retrywhen/prove"
)

// The findings of TestRealTime, without reconnecttest: clients of real servers behind a connection that falls silent.

// quietly passes on what a client and a server send, until it swallows that.
type quietly struct {
	net.Listener
	connections atomic.Int64
	swallows    atomic.Bool
}

func inFrontOf(t *testing.T, server string) *quietly {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	q := &quietly{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			q.connections.Add(1)
			server, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			go q.pass(client, server)
			go q.pass(server, client)
		}
	}()
	return q
}

func (q *quietly) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !q.swallows.Load() {
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// silenced runs a client until its first value, swallows what follows, and returns whether it has connected again
// within a time, and whether it returns within 5 s when it is told to.
func silenced(t *testing.T, target prove.Target, within time.Duration) (again, returns bool) {
	t.Helper()
	q := inFrontOf(t, target.Server)
	run := prove.Run{Name: "silenced", Addr: q.Addr().String(), Server: target.Server}
	if target.Before != nil {
		must(t, target.Before(t.Context(), run))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	came, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- target.Client(ctx, run, func(v string) { came <- v }) }()
	for n, got := 1, false; !got; n++ {
		if n == 100 {
			t.Fatal("no value comes")
		}
		must(t, target.Event(t.Context(), run, n))
		select {
		case <-came:
			got = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	before := q.connections.Load()
	q.swallows.Store(true)
	time.Sleep(within)
	again = q.connections.Load() > before
	cancel()
	select {
	case <-ended:
		return again, true
	case <-time.After(5 * time.Second):
		return again, false
	}
}

// Without DialKeepAliveTime the watch does not notice silence, in the time in which it does with it.
func TestEtcd_Silence(t *testing.T) {
	nightly(t)
	for alive, parameters := range map[bool]keepalive.ClientParameters{true: {Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}, false: {}} {
		if again, _ := silenced(t, startEtcd(parameters)(t), 20*time.Second); again != alive {
			t.Errorf("with keepalive: %v, connected again: %v", alive, again)
		}
	}
}

// Ping waits for the reply without a deadline, and holds the mutex that Close waits for.
func TestPQ_Silence(t *testing.T) {
	nightly(t)
	if again, returns := silenced(t, startPostgres(t), 20*time.Second); again || returns {
		t.Errorf("connected again: %v, returned: %v", again, returns)
	}
}

// After a handshake without a reply the connection is not closed: no FIN comes.
func TestNSQ_Open(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector closes it
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	config := nsq.NewConfig()
	config.HeartbeatInterval, config.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	consumer, err := nsq.NewConsumer("topic", "channel", config)
	must(t, err)
	consumer.SetLogger(nil, nsq.LogLevelError)
	consumer.AddHandler(nsq.HandlerFunc(func(*nsq.Message) error { return nil }))
	if err := consumer.ConnectToNSQD(l.Addr().String()); err == nil {
		t.Fatal("the handshake has not failed")
	}
	conn, err := l.Accept()
	must(t, err)
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	if sent, err := io.ReadAll(conn); err == nil || len(sent) == 0 {
		t.Errorf("the connection was closed, after %d bytes", len(sent))
	}
	consumer.Stop()
}
