package reconnect

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/retrywhen/retrywhen/prove"
)

var postgresSubject = subject{
	name: "lib/pq v1.12.3, Listener",
	promises: "A Listener \"automatically re-establishes the connection\". The table is read after each notification, and after each reconnect (nil), over a connection that does not break: " +
		"each row is expected once. The server is one in the test; below there is a real one.",
	fresh: newPostgres,
	notes: []note{
		{prove.Silent, "", "It reads without a deadline, and does not ping by itself. " + link("conn.go:1070", "lib/pq/blob/v1.12.3/conn.go#L1070"),
			"Documented: that is for [Ping](https://pkg.go.dev/github.com/lib/pq#Listener.Ping)", fails("pq", "TestPingOfASilentServer")},
		{prove.Unjudged, "", point("pq", 2, link("notify.go:725", pqFile+"#L725"), link("notify.go:754", pqFile+"#L754")),
			"", fails("pq", "TestCloseWhileItConnects")},
		{prove.Left, "", point("pq", 3, link("notify.go:796", pqFile+"#L796")), "", fails("pq", "TestCloseEndsTheWait")},
		{prove.Hot, "", "Each connection that is accepted begins the waits anew: here 100 ms, for an hour. " + link("notify.go:810", pqFile+"#L810"),
			"Documented: [NewListener](https://pkg.go.dev/github.com/lib/pq#NewListener)", pqShortestWait},
		{prove.Jitter, "", point("pq", 4, link("notify.go:797", pqFile+"#L797")), "", fails("pq", "TestJitter")},
	},
}

const pqFile = "lib/pq/blob/v1.12.3/notify.go"

// table is a table to which a row is added every 100 ms, from the first time on that somebody listens.
type table struct {
	mu    sync.Mutex
	since time.Time
}

// begin makes the first row come, and returns when the row n comes.
func (t *table) begin() func(n int) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = time.Now()
	}
	since := t.since
	return func(n int) time.Time { return since.Add(time.Duration(n) * pace) }
}

// rows returns how many rows there are.
func (t *table) rows() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return 0
	}
	return min(events, int(time.Since(t.since)/pace))
}

// newPostgres returns a Listener, and a server that speaks as much of PostgreSQL's protocol as it needs. Who listens
// is notified of each row that comes from then on.
func newPostgres() (serverRun, clientRun) {
	rows := new(table)
	serve := serveTCP(func(conn net.Conn, write func(string) error) {
		if _, err := packet(conn, 0); err != nil { // the start
			return
		}
		_ = write(welcome)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for {
			query, err := packet(conn, 1)
			switch {
			case err != nil || query == "":
				return
			case strings.HasPrefix(query, "LISTEN"):
				at := rows.begin()
				_ = write(listens)
				go func() {
					for n := rows.rows() + 1; n <= events; n++ {
						select {
						case <-time.After(time.Until(at(n))):
						case <-ctx.Done():
							return
						}
						if write(message('A', "\x00\x00\x00\x01events\x00\x00")) != nil {
							return
						}
					}
				}()
			default:
				_ = write(message('I', "") + ready)
			}
		}
	})
	return serve, func(ctx context.Context, dial dialFunc, got func(string)) error {
		connected, begun := context.WithCancel(context.Background())
		defer begun()
		listener := pq.NewDialListener(postgresDialer{dial}, "postgres://postgres@127.0.0.1/postgres?sslmode=disable&connect_timeout=5",
			100*time.Millisecond, 5*time.Second, func(e pq.ListenerEventType, _ error) {
				if e == pq.ListenerEventConnected {
					begun()
				}
			})
		defer func() { _ = listener.Close() }()
		listening := make(chan error, 1)
		first, last := connected.Done(), 0
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-first: // it holds a mutex until then
				first = nil
				go func() { listening <- listener.Listen("events") }()
				continue
			case err := <-listening:
				if err != nil {
					return err
				}
			case <-listener.Notify:
			}
			for ; last < rows.rows(); last++ {
				got(fmt.Sprint("event ", last+1))
			}
		}
	}
}

// message is one with a kind and a body.
func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))) + body
}

var (
	ready   = message('Z', "I")
	welcome = message('R', "\x00\x00\x00\x00") + message('K', "\x00\x00\x00\x01\x00\x00\x00\x01") + ready
	listens = message('C', "LISTEN\x00") + ready
)

// pqShortestWait shows a server that accepts each connection, and ends it.
func pqShortestWait(t *testing.T) {
	_, run := newPostgres()
	visit(t, run, func(s *server, _ <-chan error, _ func()) {
		time.Sleep(time.Hour)
		if waits := s.waits(); len(waits) < 30_000 || waits[len(waits)-1] > 200*time.Millisecond {
			t.Errorf("%d waits in an hour", len(waits))
		}
	}, func(_ *server, conn net.Conn) {
		_, _ = packet(conn, 0)
		_, _ = io.WriteString(conn, welcome)
		_, _ = packet(conn, 1)
		_, _ = io.WriteString(conn, listens)
		_ = conn.Close()
	})
}

// packet reads a message, which begins with a kind or does not, and returns its body, or "" if it is the last one.
func packet(conn net.Conn, kind int) (string, error) {
	head := make([]byte, kind+4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[kind:])-4)
	_, err := io.ReadFull(conn, body)
	return string(body), err
}

// postgresDialer is a pq.DialerContext.
type postgresDialer struct{ dial dialFunc }

func (d postgresDialer) Dial(network, address string) (net.Conn, error) {
	return d.dial(context.Background(), network, address)
}

func (d postgresDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.dial(ctx, network, address)
}

func (d postgresDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.dial(ctx, network, address)
}
